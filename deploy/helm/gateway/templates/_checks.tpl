{{/* What the schema cannot say: values that do not fit together. */}}
{{- define "gateway.checks" -}}
{{- $admin := include "gateway.adminProcess" . -}}
{{- $settings := index .Values.processes $admin -}}
{{- if include "gateway.isSqlite" . -}}
{{- if gt (int $settings.replicas) 1 -}}
{{- fail (printf "processes.%s.replicas is %d, but keys and usage are in SQLite's file, which one process writes. Set database.url.secretName, or replicas to 1." $admin (int $settings.replicas)) -}}
{{- end -}}
{{- if and (eq .Values.mode "all-in-one") .Values.autoscaling.services.enabled -}}
{{- fail "autoscaling.services is on, but keys and usage are in SQLite's file, which one process writes. Set database.url.secretName, or switch it off." -}}
{{- end -}}
{{- if and (eq .Values.mode "all-in-one") (not .Values.files.url) (ne (include "gateway.filesAccessMode" .) "ReadWriteOnce") -}}
{{- fail "In all-in-one mode SQLite's file is in the volume of files, and must not be on a network file system. Leave files.volume.accessMode empty, or set files.url to a bucket, or database.url.secretName." -}}
{{- end -}}
{{- end -}}
{{- if and .Values.config .Values.existingConfigMap -}}
{{- fail "Both config and existingConfigMap are set: gateway.yaml can come from one of them only." -}}
{{- end -}}
{{- if and .Values.autoscaling.workers.enabled (not .Values.autoscaling.workers.prometheusUrl) -}}
{{- fail "autoscaling.workers is on, but autoscaling.workers.prometheusUrl is not set: KEDA reads the number of jobs from that Prometheus." -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute is on, but httpRoute.parentRefs is empty: name the Gateway that it belongs to." -}}
{{- end -}}
{{- end -}}
