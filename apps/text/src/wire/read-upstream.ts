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

/** @param word the upstream's own for how its answer ended */
export const upstreamGaveUp = (word: unknown): GatewayError =>
  new UnreadableReply('The upstream stopped before its answer was complete.', {
    cause: new Error(`the upstream's answer ended with '${word}'`),
  });

export const upstreamCutOff = (): GatewayError =>
  new UnreadableReply('The upstream ended its answer before it was complete.');
