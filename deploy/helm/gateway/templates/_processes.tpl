{{/*
The processes of the mode, as YAML. `secrets` are keys of secretName, of which those in `optionalSecrets` may be missing;
`reads` says what a process is given: config (gateway.yaml), providers (their keys), alerts (addresses of their receivers), files (of jobs and stored responses), database.
*/}}
{{- define "gateway.processes" -}}
{{- if eq .Values.mode "services" }}
edge:
  entry: apps/edge/src/main.ts
  isBusy: true
  scaledBy: cpu
  ports: { http: 8080, ops: 9080 }
  secrets: [GATEWAY_SECRET]
  reads: []
text:
  entry: apps/text/src/main.ts
  isBusy: true
  scaledBy: cpu
  ports: { ops: 8081 }
  secrets: [GATEWAY_SECRET]
  reads: [config, providers, files]
text-worker:
  entry: apps/text/src/worker.ts
  scaledBy: jobs
  queues: [response, text-batch]
  ports: { ops: 9081 }
  portVariable: TEXT_WORKER_METRICS_PORT
  secrets: [GATEWAY_SECRET]
  optionalSecrets: [WEBHOOK_SECRET]
  reads: [config, providers, files]
image:
  entry: apps/image/src/main.ts
  scaledBy: cpu
  ports: { ops: 8082 }
  secrets: [GATEWAY_SECRET]
  reads: [config, providers, files, publicUrl]
image-worker:
  entry: apps/image/src/worker.ts
  scaledBy: jobs
  queues: [image]
  ports: { ops: 9082 }
  portVariable: IMAGE_WORKER_METRICS_PORT
  optionalSecrets: [GATEWAY_SECRET, WEBHOOK_SECRET]
  reads: [config, providers, files]
audio:
  entry: apps/audio/src/main.ts
  scaledBy: cpu
  ports: { ops: 8083 }
  secrets: [GATEWAY_SECRET]
  reads: [config, providers, files, publicUrl]
audio-worker:
  entry: apps/audio/src/worker.ts
  scaledBy: jobs
  queues: [transcription, speech]
  ports: { ops: 9083 }
  portVariable: AUDIO_WORKER_METRICS_PORT
  optionalSecrets: [GATEWAY_SECRET, WEBHOOK_SECRET]
  reads: [config, providers, files]
retrieval:
  entry: apps/retrieval/src/main.ts
  isBusy: true
  scaledBy: cpu
  ports: { ops: 8084 }
  secrets: [GATEWAY_SECRET]
  reads: [config, providers, contentLog]
admin:
  entry: apps/admin/src/main.ts
  ports: { ops: 8090 }
  secrets: [GATEWAY_SECRET, GATEWAY_ADMIN_TOKEN]
  optionalSecrets: [GATEWAY_BOOTSTRAP_KEY, WEBHOOK_SECRET, OIDC_CLIENT_SECRET]
  reads: [config, alerts, contentLog, database, publicUrl]
{{- else }}
gateway:
  entry: apps/gateway/src/main.ts
  isBusy: true
  scaledBy: cpu
  ports: { http: 8080, ops: 9080, admin: 8090 }
  secrets: [GATEWAY_SECRET, GATEWAY_ADMIN_TOKEN]
  optionalSecrets: [GATEWAY_BOOTSTRAP_KEY, WEBHOOK_SECRET, OIDC_CLIENT_SECRET]
  reads: [config, providers, alerts, files, database, publicUrl]
workers:
  entry: apps/gateway/src/worker.ts
  scaledBy: jobs
  queues: [response, text-batch, image, transcription, speech]
  ports: { ops: 9084 }
  portVariable: WORKER_METRICS_PORT
  secrets: [GATEWAY_SECRET]
  optionalSecrets: [WEBHOOK_SECRET]
  reads: [config, providers, files]
{{- end }}
{{- end -}}

{{/* The process that answers callers, and the one that has the admin service. */}}
{{- define "gateway.edgeProcess" -}}{{ ternary "edge" "gateway" (eq .Values.mode "services") }}{{- end -}}
{{- define "gateway.adminProcess" -}}{{ ternary "admin" "gateway" (eq .Values.mode "services") }}{{- end -}}

{{/* With (list $ PROCESS): cpu, jobs or nothing. */}}
{{- define "gateway.scaledBy" -}}
{{- $scaling := (index . 0).Values.autoscaling -}}
{{- $by := (index . 1).scaledBy -}}
{{- if or (and (eq (toString $by) "cpu") $scaling.services.enabled) (and (eq (toString $by) "jobs") $scaling.workers.enabled) }}{{ $by }}{{ end -}}
{{- end -}}
