import type { ContentPlace } from '@gateway/contracts/trace/request-trace';
import { z } from 'zod';
import { setting } from '../config.ts';
import { CALLER_TRACES, SAMPLERS } from './sampler.ts';

const PROTOBUF = 'http/protobuf';
const protocol = z
  .literal(PROTOBUF, `must be ${PROTOBUF}: traces are exported by no other protocol`)
  .optional();
/** Such as `authorization=Basic%20dXNlcjpwYXNz,x-tenant=one`, as the exporter itself reads it. */
const pairs = z
  .string()
  .regex(
    /^\s*[^=,\s]+\s*=[^,]*(,\s*[^=,\s]+\s*=[^,]*|,\s*)*$/,
    'must be pairs such as name=value,other=value',
  )
  .optional();
const truth = z
  .string()
  .optional()
  .transform((text) => text?.toLowerCase() === 'true');
/** The exporter reads these itself; here their mistakes are found at the start. */
const readByExporter = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting.url().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting.url().optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_HEADERS: pairs,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: pairs,
  OTEL_EXPORTER_OTLP_TIMEOUT: setting.integer(10_000, { min: 1 }),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: setting.integer(10_000, { min: 1 }),
  OTEL_EXPORTER_OTLP_COMPRESSION: z.enum(['gzip', 'none']).optional(),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: z.enum(['gzip', 'none']).optional(),
  OTEL_EXPORTER_OTLP_CERTIFICATE: z.string().optional(),
  OTEL_EXPORTER_OTLP_CLIENT_KEY: z.string().optional(),
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs,
};

/** In any case, as its makers write it. */
const CAPTURES: Readonly<Record<string, readonly ContentPlace[]>> = {
  '': [],
  false: [],
  no_content: [],
  true: ['span'],
  span_only: ['span'],
  event_only: ['event'],
  span_and_event: ['span', 'event'],
};
const captures = z
  .string()
  .default('')
  .transform((text) => text.trim().toLowerCase())
  .refine(
    (text) => Object.hasOwn(CAPTURES, text),
    'must be span_only, event_only, span_and_event, no_content, true or false',
  )
  .transform((text) => CAPTURES[text] ?? []);

/** OpenTelemetry's own variables as far as traces have them, and what becomes of callers' traces. */
export const TracingSettings = z.object({
  ...readByExporter,
  OTEL_SDK_DISABLED: truth,
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'], 'must be otlp or none: traces are exported nowhere else')
    .default('otlp'),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((text) => Number(text) >= 0 && Number(text) <= 1, 'must be a share from 0 to 1')
    .transform(Number)
    .default(1),
  OTEL_BSP_MAX_QUEUE_SIZE: setting.integer(2048, { min: 1, max: 1_000_000 }),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: setting.integer(512, { min: 1, max: 100_000 }),
  OTEL_BSP_SCHEDULE_DELAY: setting.integer(5000, { min: 1 }),
  OTEL_BSP_EXPORT_TIMEOUT: setting.integer(30_000, { min: 1 }),
  /** Where what is asked and answered is: nowhere, unless an operator asks for it. */
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: captures,
  /** What becomes of a trace that a caller has begun. */
  TRACES_OF_CALLERS: z.enum(CALLER_TRACES).default('continue'),
});
export type TracingSettings = z.infer<typeof TracingSettings>;

/** Whether traces are exported at all. Without an endpoint nothing of them is loaded, and none of the settings is read. */
export const isTraced = (env: Readonly<Record<string, string | undefined>>): boolean =>
  [env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, env.OTEL_EXPORTER_OTLP_ENDPOINT].some((url) => url?.trim()) &&
  env.OTEL_SDK_DISABLED?.trim().toLowerCase() !== 'true' &&
  env.OTEL_TRACES_EXPORTER?.trim() !== 'none';
