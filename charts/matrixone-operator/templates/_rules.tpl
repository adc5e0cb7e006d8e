{{- /*
# SPDX-License-Identifier: Apache-2.0
# Made by `make rbac` from deploy/rights.yaml; do not edit.
*/ -}}
{{- define "matrixone-operator.rules.operator.watched" -}}
- apiGroups:
    - core.matrixorigin.io
  resources:
    - matrixoneclusters
  verbs:
    - get
    - list
    - watch
    - patch
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters
  verbs:
    - get
    - list
    - watch
    - patch
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters/status
  verbs:
    - patch
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters/finalizers
  verbs:
    - update
- apiGroups:
    - core.matrixorigin.io
  resources:
    - logsets
    - dnsets
    - cnsets
    - proxysets
    - webuis
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - core.matrixorigin.io
  resources:
    - matrixoneclusters/status
    - logsets/status
    - dnsets/status
    - cnsets/status
    - proxysets/status
    - webuis/status
  verbs:
    - patch
- apiGroups:
    - core.matrixorigin.io
  resources:
    - matrixoneclusters/finalizers
    - logsets/finalizers
    - dnsets/finalizers
    - cnsets/finalizers
    - proxysets/finalizers
    - webuis/finalizers
  verbs:
    - update
- apiGroups:
    - apps
  resources:
    - statefulsets
    - deployments
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - apps
  resources:
    - replicasets
    - controllerrevisions
  verbs:
    - list
- apiGroups:
    - ''
  resources:
    - services
    - configmaps
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - policy
  resources:
    - poddisruptionbudgets
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - networking.k8s.io
  resources:
    - networkpolicies
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - ''
  resources:
    - pods
  verbs:
    - get
    - list
    - watch
    - patch
    - delete
- apiGroups:
    - ''
  resources:
    - pods/status
  verbs:
    - patch
- apiGroups:
    - ''
  resources:
    - persistentvolumeclaims
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - ''
  resources:
    - secrets
  verbs:
    - get
    - create
    - patch
- apiGroups:
    - events.k8s.io
  resources:
    - events
  verbs:
    - create
- apiGroups:
    - ''
  resources:
    - events
  verbs:
    - create
    - patch
{{- end }}
{{- define "matrixone-operator.rules.operator.own" -}}
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - create
    - update
- apiGroups:
    - ''
  resources:
    - events
  verbs:
    - create
    - patch
{{- end }}
{{- define "matrixone-operator.rules.nodes.cluster" -}}
- apiGroups:
    - ''
  resources:
    - nodes
  verbs:
    - get
- apiGroups:
    - ''
  resources:
    - persistentvolumes
  verbs:
    - get
    - patch
{{- end }}
{{- define "matrixone-operator.rules.metrics.cluster" -}}
- apiGroups:
    - authentication.k8s.io
  resources:
    - tokenreviews
  verbs:
    - create
- apiGroups:
    - authorization.k8s.io
  resources:
    - subjectaccessreviews
  verbs:
    - create
{{- end }}
{{- define "matrixone-operator.rules.admission.own" -}}
- apiGroups:
    - ''
  resources:
    - secrets
  verbs:
    - create
- apiGroups:
    - ''
  resources:
    - secrets
  verbs:
    - get
    - update
  resourceNames:
    - matrixone-operator-webhook
{{- end }}
{{- define "matrixone-operator.rules.admission.cluster" -}}
- apiGroups:
    - admissionregistration.k8s.io
  resources:
    - validatingwebhookconfigurations
  verbs:
    - create
- apiGroups:
    - admissionregistration.k8s.io
  resources:
    - validatingwebhookconfigurations
  verbs:
    - get
    - patch
  resourceNames:
    - matrixone-operator-webhook
- apiGroups:
    - admissionregistration.k8s.io
  resources:
    - mutatingwebhookconfigurations
  verbs:
    - get
  resourceNames:
    - matrixone-operator-webhook
{{- end }}
{{- define "matrixone-operator.rules.users.view" -}}
- apiGroups:
    - core.matrixorigin.io
  resources:
    - cnsets
    - dnsets
    - logsets
    - matrixoneclusters
    - proxysets
    - webuis
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters
  verbs:
    - get
    - list
    - watch
{{- end }}
{{- define "matrixone-operator.rules.users.edit" -}}
- apiGroups:
    - core.matrixorigin.io
  resources:
    - cnsets
    - dnsets
    - logsets
    - matrixoneclusters
    - proxysets
    - webuis
  verbs:
    - create
    - delete
    - deletecollection
    - patch
    - update
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters
  verbs:
    - create
    - delete
    - deletecollection
    - patch
    - update
{{- end }}
{{- define "matrixone-operator.rules.uninstall.refuse" -}}
- apiGroups:
    - core.matrixorigin.io
  resources:
    - cnsets
    - dnsets
    - logsets
    - matrixoneclusters
    - proxysets
    - webuis
  verbs:
    - list
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters
  verbs:
    - list
{{- end }}
{{- define "matrixone-operator.rules.uninstall.cascade" -}}
- apiGroups:
    - core.matrixorigin.io
  resources:
    - cnsets
    - dnsets
    - logsets
    - matrixoneclusters
    - proxysets
    - webuis
  verbs:
    - list
    - patch
    - delete
- apiGroups:
    - matrixone.matrixorigin.cn
  resources:
    - matrixoneclusters
  verbs:
    - list
    - patch
    - delete
- apiGroups:
    - ''
  resources:
    - persistentvolumeclaims
  verbs:
    - list
{{- end }}
{{- define "matrixone-operator.rules.uninstall.own" -}}
- apiGroups:
    - apps
  resources:
    - deployments
  verbs:
    - get
{{- end }}
