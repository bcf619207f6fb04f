{{/* The name of the release's objects. Names of processes are added to it: both together have at most 63 characters. */}}
{{- define "gateway.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "gateway" $name) -}}{{- $name = printf "%s-gateway" $name -}}{{- end -}}
{{- $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{- define "gateway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/name: gateway
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* With (list $ NAME): the labels by which the pods of one process are found. */}}
{{- define "gateway.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: gateway
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "gateway.serviceAccountName" -}}
{{- default (ternary (include "gateway.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "gateway.isSqlite" -}}
{{- if not .Values.database.url.secretName }}true{{ end -}}
{{- end -}}

{{- define "gateway.filesAccessMode" -}}
{{- default (ternary "ReadWriteMany" "ReadWriteOnce" (eq .Values.mode "services")) .Values.files.volume.accessMode -}}
{{- end -}}
