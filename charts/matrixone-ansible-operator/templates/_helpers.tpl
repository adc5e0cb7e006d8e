{{- /*
# SPDX-License-Identifier: Apache-2.0
Names, labels and what values amount to.
*/ -}}

{{- /* Not the name of the chart, which was another one: objects of a release keep their names. */ -}}
{{- define "matrixone-operator.fullname" -}}
{{- $own := default "matrixone-operator" .Values.nameOverride -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name $own) (contains $own .Release.Name) -}}
{{- default $name .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- end }}

{{- /* The databases' NetworkPolicies allow Pods with this name, so it is not a value. */ -}}
{{- define "matrixone-operator.selector" -}}
app.kubernetes.io/name: matrixone-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "matrixone-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: matrixone-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: matrixone
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "matrixone-operator.image" -}}
{{- $repository := .Values.image.repository -}}
{{- with .Values.globalRegistryPrefix -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository -}}
{{- end -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{- define "matrixone-operator.serviceAccountName" -}}
{{- default (ternary (include "matrixone-operator.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end }}

{{- /* The watched namespaces as JSON; an empty list for all. */ -}}
{{- define "matrixone-operator.namespaces" -}}
{{- $namespaces := .Values.watchNamespaces -}}
{{- if .Values.onlyWatchReleasedNS -}}
{{- $namespaces = append $namespaces .Release.Namespace -}}
{{- end -}}
{{- $namespaces | uniq | sortAlpha | toJson -}}
{{- end }}

{{- /* Not empty in namespaced mode. */ -}}
{{- define "matrixone-operator.namespaced" -}}
{{- if or .Values.onlyWatchReleasedNS .Values.watchNamespaces }}yes{{ end -}}
{{- end }}

{{- /* Not empty if the API server authorizes clients of metrics. */ -}}
{{- define "matrixone-operator.metricsNeedRights" -}}
{{- $asked := .Values.metrics.requireRBAC -}}
{{- if kindIs "invalid" $asked -}}
{{- $asked = and .Values.metrics.secure (not (include "matrixone-operator.namespaced" .)) -}}
{{- end -}}
{{- if and .Values.metrics.enabled $asked }}yes{{ end -}}
{{- end }}

{{- /* Not empty if webhooks are served. */ -}}
{{- define "matrixone-operator.webhook" -}}
{{- $wanted := .Values.webhook.enabled -}}
{{- if kindIs "invalid" $wanted -}}
{{- $wanted = not (include "matrixone-operator.namespaced" .) -}}
{{- end -}}
{{- if $wanted }}yes{{ end -}}
{{- end }}

{{- /* Name of the Service, the Secret and the two configurations of webhooks. */ -}}
{{- define "matrixone-operator.webhookName" -}}
{{ include "matrixone-operator.clusterName" . }}-webhook
{{- end }}

{{- /* Name of cluster-scoped objects; two releases with the same name can coexist in namespaced mode. */ -}}
{{- define "matrixone-operator.clusterName" -}}
{{- $fullname := include "matrixone-operator.fullname" . -}}
{{- if include "matrixone-operator.namespaced" . -}}
{{ .Release.Namespace }}-{{ $fullname }}
{{- else -}}
{{ $fullname }}
{{- end -}}
{{- end }}

{{- /* Seconds of a duration of whole hours, minutes and seconds, such as 1m30s. */ -}}
{{- define "matrixone-operator.seconds" -}}
{{- $total := 0 -}}
{{- range regexFindAll "[0-9]+[hms]" . -1 -}}
{{- $number := trimSuffix (substr (sub (len .) 1 | int) -1 .) . | int -}}
{{- if hasSuffix "h" . }}{{ $total = add $total (mul $number 3600) }}
{{- else if hasSuffix "m" . }}{{ $total = add $total (mul $number 60) }}
{{- else }}{{ $total = add $total $number }}{{ end -}}
{{- end -}}
{{- $total -}}
{{- end }}

{{- /* Fails on contradicting values, with a message that says what to do. */ -}}
{{- define "matrixone-operator.check" -}}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "replicaCount is more than 1, so leaderElection.enabled must be true: otherwise, two Pods would reconcile the same objects" -}}
{{- end -}}
{{- if and (gt (int .Values.leaderElection.shards) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "leaderElection.shards is more than 1, so leaderElection.enabled must be true: Pods share the objects by Leases" -}}
{{- end -}}
{{- if and .Values.metrics.requireRBAC (not .Values.metrics.secure) -}}
{{- fail "metrics.requireRBAC requires metrics.secure: clients send their tokens" -}}
{{- end -}}
{{- if and .Values.admissionPolicy.enabled (eq .Values.podSecurity "privileged") -}}
{{- fail "admissionPolicy.enabled requires podSecurity restricted or baseline: there is nothing to check" -}}
{{- end -}}
{{- range $variable, $value := dict "WATCH_NAMESPACE" "watchNamespaces" "DENY_LIST" "ignoreNamespaces" "RECONCILE_PERIOD" "reconcilePeriod" "MATRIXONE_POD_SECURITY" "podSecurity" -}}
{{- if and (hasKey $.Values.env $variable) (or (index $.Values $value) (eq $variable "WATCH_NAMESPACE")) -}}
{{- fail (printf "env.%s: use %s instead" $variable $value) -}}
{{- end -}}
{{- end -}}
{{- $lease := include "matrixone-operator.seconds" .Values.leaderElection.leaseDuration | int -}}
{{- if le $lease (include "matrixone-operator.seconds" .Values.leaderElection.renewDeadline | int) -}}
{{- fail "leaderElection.renewDeadline must be less than leaderElection.leaseDuration" -}}
{{- end -}}
{{- end }}
