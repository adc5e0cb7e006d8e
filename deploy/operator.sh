#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the operator in the cluster in KUBECONFIG, or uninstalls it; requires only kubectl.
#
#   deploy/operator.sh install              the CRDs
#   deploy/operator.sh deploy [IMAGE]       the CRDs and the operator
#   deploy/operator.sh undeploy             the operator, unless resources still require it
#   deploy/operator.sh uninstall            the CRDs, unless resources of their kinds exist
#
# OVERLAY: default, namespaced or prometheus (deploy/overlays/). NAMESPACE: the operator's namespace.
# FORCE=1: undeploy even if resources exist; the databases keep running without an operator.
set -euo pipefail
cd "$(dirname "$0")/.."

overlay=${OVERLAY:-default}
namespace=${NAMESPACE:-matrixone-operator}
kubectl=${KUBECTL:-kubectl}
wait=${TIMEOUT:-180s}

manifests() ( # [image]
  [ -d "deploy/overlays/$overlay" ] || {
    echo "deploy: overlay $overlay does not exist; available:" deploy/overlays/* >&2
    exit 1
  }
  # A new one: another process may be running for another cluster. kustomize requires a relative path.
  mkdir -p build
  folder=$(mktemp -d build/deploy.XXXXXX)
  trap 'rm -rf "$folder"' EXIT
  {
    echo "namespace: $namespace"
    echo "resources: [../../deploy/overlays/$overlay]"
    if [ -n "${1:-}" ]; then
      echo "images:"
      if [[ $1 == *@* ]]; then
        printf '  - {name: matrixorigin/matrixone-ansible-operator, newName: "%s", digest: "%s"}\n' "${1%%@*}" "${1#*@}"
      else
        printf '  - {name: matrixorigin/matrixone-ansible-operator, newName: "%s", newTag: "%s"}\n' "${1%:*}" "${1##*:}"
      fi
      # Kustomize changes the images of containers alone; replacements follow that.
      cat <<'REPLACEMENTS'
replacements:
  - source: {kind: Deployment, name: matrixone-operator, fieldPath: "spec.template.spec.containers.[name=operator].image"}
    targets:
      - select: {kind: Deployment, name: matrixone-operator}
        fieldPaths: ["spec.template.spec.containers.[name=operator].env.[name=OPERATOR_IMAGE].value"]
REPLACEMENTS
    fi
  } >"$folder/kustomization.yaml"
  "$kubectl" kustomize "$folder"
)

# Resources with finalizers that only the operator removes. The kinds are listed by name:
# kubectl may have cached that the category does not exist.
ours() { # [kind that does not count]
  local kinds where=(--all-namespaces)
  [ "$overlay" != namespaced ] || where=(--namespace "$namespace")
  kinds=$("$kubectl" get customresourcedefinitions -o name)
  kinds=$(sed -nE 's#^.*/(.*\.matrixorigin\.(io|cn))$#\1#p' <<<"$kinds" | sed "\#^${1:-/}\$#d" | paste -sd, -)
  [ -z "$kinds" ] || "$kubectl" get "$kinds" "${where[@]}" -o name
}

refuse_while_needed() { # what, [kind that does not count]
  local left
  left=$(ours "${2:-}") || exit 1
  [ -n "$left" ] || return 0
  if [ "${FORCE:-}" = 1 ]; then
    # shellcheck disable=SC2086  # one line of names
    echo "deploy: these remain, and cannot be deleted until an operator is running again:" $left >&2
    return 0
  fi
  {
    echo "deploy: $1 is refused while these resources exist, whose deletion requires the operator:"
    head -10 <<<"$left" | sed 's/^/  /'
    echo "Delete them first (kubectl delete mo --all -A), or set FORCE=1 to keep the databases running without an operator."
  } >&2
  exit 1
}

case "${1:-}" in
  install)
    "$kubectl" apply --server-side --force-conflicts -f crds/
    ;;
  deploy)
    "$kubectl" apply --server-side --force-conflicts -f crds/
    manifests "${2:-}" | "$kubectl" apply --server-side --force-conflicts -f -
    "$kubectl" -n "$namespace" rollout status deployment/matrixone-operator --timeout="$wait"
    ;;
  undeploy)
    # Backups outlive databases and the operator.
    refuse_while_needed "removing the operator" backups.core.matrixorigin.io
    manifests | "$kubectl" delete --ignore-not-found --timeout="$wait" -f -
    # Created by the operator itself; without it, they would only delay writes of resources.
    [ "$overlay" = namespaced ] || "$kubectl" delete --ignore-not-found \
      mutatingwebhookconfigurations,validatingwebhookconfigurations matrixone-operator-webhook
    ;;
  uninstall)
    FORCE='' refuse_while_needed "removing the CRDs"
    "$kubectl" delete --ignore-not-found --timeout="$wait" -f crds/
    ;;
  *)
    sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
