import type { GatewayError } from '@gateway/contracts/gateway-error';
import { readSchema } from '@gateway/contracts/json/read-schema';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import type { z } from 'zod';

/** Reads part of an upstream's answer. @throws GatewayError `upstream_failed`; what was wrong stays in the cause */
export function readUpstream<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const read = readSchema(schema, value);
  if (read !== undefined) return read.data;
  throw upstreamNonsense(schema.safeParse(value).error);
}

export const upstreamNonsense = (cause?: unknown): GatewayError =>
  new UnreadableReply('The upstream sent an answer that does not follow its protocol.', { cause });

export const upstreamCutOff = (): GatewayError =>
  new UnreadableReply('The upstream ended its answer before it was complete.');
