import { GatewayError } from '@gateway/contracts/gateway-error';
import type { z } from 'zod';
import { formatPath, type Path } from './conversation/path.ts';

const stepsOf = (path: readonly PropertyKey[]): (string | number)[] =>
  path.map((step) => (typeof step === 'number' ? step : String(step)));

/** Reads part of the caller's request. @throws GatewayError `invalid_value` at the exact place */
export function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: Path = [],
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [...at, ...stepsOf(issue?.path ?? [])];
  const why = issue?.message ?? 'Invalid value';
  throw new GatewayError('invalid_value', {
    message: { openai: `Invalid value for '${formatPath(path)}': ${why}.`, anthropic: why },
    path,
  });
}

/** Reads part of an upstream's answer. @throws GatewayError `upstream_failed`; what was wrong stays in the cause */
export function readUpstream<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw upstreamNonsense(result.error);
}

export const upstreamNonsense = (cause?: unknown): GatewayError =>
  new GatewayError('upstream_failed', {
    message: 'The upstream sent an answer that does not follow its protocol.',
    source: 'upstream',
    cause,
  });

export const upstreamCutOff = (): GatewayError =>
  new GatewayError('upstream_failed', {
    message: 'The upstream ended its answer before it was complete.',
    source: 'upstream',
  });
