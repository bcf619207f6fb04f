{{- define "gateway.image" -}}{{ printf "%s:%s" .Values.image.repository .Values.image.tag }}{{- end -}}

{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* With (list NAME SECRET KEY OPTIONAL). */}}
{{- define "gateway.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom: { secretKeyRef: { name: {{ index . 1 | quote }}, key: {{ index . 2 | quote }}{{ if index . 3 }}, optional: true{{ end }} } }
{{- end -}}

{{/* With (list $ NAME PROCESS): the container's variables. */}}
{{- define "gateway.variables" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $process := index . 2 -}}
{{- $values := $root.Values -}}
{{- $fullname := include "gateway.fullname" $root -}}
{{- $settings := index $values.processes $name -}}
{{- $variables := dict
  "DRAIN_DELAY_MS" (mul $settings.drain.delaySeconds 1000)
  "DRAIN_TIMEOUT_MS" (mul $settings.drain.timeoutSeconds 1000)
-}}
{{- with $process.portVariable }}{{ $_ := set $variables . $process.ports.ops }}{{ end -}}
{{- if eq $name "edge" -}}
{{- range $service, $port := dict "text" 8081 "image" 8082 "audio" 8083 "retrieval" 8084 -}}
{{- $_ := set $variables (printf "%s_URL" (upper $service)) (printf "http://%s-%s:%d" $fullname $service $port) -}}
{{- end -}}
{{- end -}}
{{- if eq $name "admin" -}}
{{- $_ := set $variables "EDGE_URL" (printf "http://%s-edge:%d" $fullname (int $values.service.port)) -}}
{{- end -}}
{{- if eq $name "gateway" }}{{ $_ := set $variables "ADMIN_HOST" "0.0.0.0" }}{{ end -}}
{{- if and (ne $values.configurationSource "file") (has "config" $process.reads) }}{{ $_ := set $variables "CONFIGURATION_SOURCE" $values.configurationSource }}{{ end -}}
{{- if has "publicUrl" $process.reads }}{{ $_ := set $variables "PUBLIC_URL" $values.publicUrl }}{{ end -}}
{{- if and $values.demo.enabled (has "config" $process.reads) -}}
{{- $_ := set $variables "SIMULATOR_URL" (printf "http://%s-simulator:8089" $fullname) -}}
{{- end -}}
{{- if and $values.files.url (or (has "files" $process.reads) (has "contentLog" $process.reads)) -}}
{{- $_ := set $variables "ASSETS_URL" $values.files.url -}}
{{- $_ := set $variables "ASSETS_PUBLIC_ENDPOINT" $values.files.publicEndpoint -}}
{{- $_ := set $variables "AWS_ENDPOINT_URL_S3" $values.files.endpoint -}}
{{- $_ := set $variables "AWS_REGION" $values.files.region -}}
{{- end -}}
{{- if $values.redis.files.secretName -}}
{{- range $file, $variable := dict "ca" "REDIS_CA_FILE" "certificate" "REDIS_CERT_FILE" "key" "REDIS_KEY_FILE" "password" "REDIS_PASSWORD_FILE" "sentinelPassword" "REDIS_SENTINEL_PASSWORD_FILE" -}}
{{- with index $values.redis.files $file }}{{ $_ := set $variables $variable (printf "/etc/redis/%s" .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $variables = mergeOverwrite $variables $values.env $settings.env -}}
{{- if $values.demo.enabled }}
{{ include "gateway.secretVariable" (list "REDIS_PASSWORD" $values.secretName "REDIS_PASSWORD" false) }}
- name: REDIS_URL
  value: redis://:$(REDIS_PASSWORD)@{{ $fullname }}-redis:6379
{{- else }}
{{ include "gateway.secretVariable" (list "REDIS_URL" (default $values.secretName $values.redis.url.secretName) $values.redis.url.key false) }}
{{- end }}
{{- range $process.secrets }}
{{ include "gateway.secretVariable" (list . $values.secretName . false) }}
{{- end }}
{{- range $process.optionalSecrets }}
{{ include "gateway.secretVariable" (list . $values.secretName . true) }}
{{- end }}
{{- if and $values.traces.secretName (ne $name "admin") }}
{{ include "gateway.secretVariable" (list "OTEL_EXPORTER_OTLP_HEADERS" $values.traces.secretName "OTEL_EXPORTER_OTLP_HEADERS" false) }}
{{- end }}
{{- if and (has "database" $process.reads) $values.database.url.secretName }}
{{ include "gateway.secretVariable" (list "DATABASE_URL" $values.database.url.secretName $values.database.url.key false) }}
{{- end }}
{{- if and $values.files.url $values.files.credentialsSecretName (or (has "files" $process.reads) (has "contentLog" $process.reads)) }}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
{{ include "gateway.secretVariable" (list . $values.files.credentialsSecretName . false) }}
{{- end }}
{{- end }}
{{- range $variable, $value := $variables }}
{{- if ne (toString $value) "" }}
- name: {{ $variable }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* With (list $ PROCESS): where the data folder lies. */}}
{{- define "gateway.dataVolume" -}}
{{- $root := index . 0 -}}
{{- $process := index . 1 -}}
{{- $values := $root.Values -}}
{{- $fullname := include "gateway.fullname" $root -}}
{{- if and (has "files" $process.reads) (not $values.files.url) -}}
persistentVolumeClaim: { claimName: {{ default (printf "%s-files" $fullname) $values.files.volume.existingClaim }} }
{{- else if and (has "database" $process.reads) (include "gateway.isSqlite" $root) -}}
persistentVolumeClaim: { claimName: {{ default (printf "%s-database" $fullname) $values.database.volume.existingClaim }} }
{{- else -}}
emptyDir: {}
{{- end -}}
{{- end -}}

{{/* With (list $ NAME PROCESS): the pod's spec. */}}
{{- define "gateway.podSpec" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $process := index . 2 -}}
{{- $values := $root.Values -}}
{{- $settings := index $values.processes $name -}}
{{- $hasConfig := and (has "config" $process.reads) (or $values.config $values.existingConfigMap) -}}
{{- $hasFilesVolume := and (has "files" $process.reads) (not $values.files.url) -}}
serviceAccountName: {{ include "gateway.serviceAccountName" $root }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ add $settings.drain.delaySeconds $settings.drain.timeoutSeconds 15 }}
securityContext:
  {{- include "gateway.podSecurity" $root | nindent 2 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "gateway.selector" (list $root $name) | nindent 8 }}
{{- if and $hasFilesVolume (eq (include "gateway.filesAccessMode" $root) "ReadWriteOnce") }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app.kubernetes.io/instance: {{ $root.Release.Name }}
            gateway/files-volume: "true"
{{- end }}
containers:
  - name: {{ $name }}
    image: {{ include "gateway.image" $root | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command:
      - node
      {{- if $process.isBusy }}
      - --no-memory-reducer
      - --external-memory-accounted-in-global-limit
      - --initial-old-space-size=64
      {{- end }}
      - /gateway/{{ $process.entry }}
    workingDir: /config
    ports:
      {{- range $port, $number := $process.ports }}
      - { name: {{ $port }}, containerPort: {{ $number }} }
      {{- end }}
    env:
      {{- include "gateway.variables" . | trim | nindent 6 }}
    {{- $named := concat (ternary $values.providers.secretNames list (has "providers" $process.reads)) (ternary $values.alerts.secretNames list (has "alerts" $process.reads)) | uniq }}
    {{- with $named }}
    envFrom:
      {{- range . }}
      - secretRef: { name: {{ . | quote }} }
      {{- end }}
    {{- end }}
    {{- $probed := ternary "http" "ops" (hasKey $process.ports "http") }}
    startupProbe:
      httpGet: { path: /healthz, port: {{ $probed }} }
      periodSeconds: 2
      timeoutSeconds: 3
      failureThreshold: 60
    readinessProbe:
      httpGet: { path: /readyz, port: {{ $probed }} }
      periodSeconds: 5
      timeoutSeconds: 4
      failureThreshold: 2
    livenessProbe:
      httpGet: { path: /healthz, port: {{ $probed }} }
      periodSeconds: 20
      timeoutSeconds: 10
      failureThreshold: 6
    resources:
      {{- toYaml $settings.resources | nindent 6 }}
    securityContext:
      {{- include "gateway.containerSecurity" $root | nindent 6 }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      - { name: data, mountPath: /data }
      {{- if $hasConfig }}
      - { name: config, mountPath: /config, readOnly: true }
      {{- end }}
      {{- if $values.redis.files.secretName }}
      - { name: redis, mountPath: /etc/redis, readOnly: true }
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  - name: data
    {{- include "gateway.dataVolume" (list $root $process) | nindent 4 }}
  {{- if $hasConfig }}
  - name: config
    configMap: { name: {{ default (printf "%s-config" (include "gateway.fullname" $root)) $values.existingConfigMap }} }
  {{- end }}
  {{- if $values.redis.files.secretName }}
  - name: redis
    secret: { secretName: {{ $values.redis.files.secretName | quote }} }
  {{- end }}
{{- end -}}
