import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe, maybeNumber } from '@gateway/contracts/json/reply-members';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import { membersOf, textsOf } from '../inputs.ts';
import type { EmbeddingsForm, Vector } from './embeddings-form.ts';

const Entry = z.looseObject({ index: maybeNumber, embedding: z.unknown() });
const Reply = z.looseObject({ data: z.array(Entry) });
const Reported = z.looseObject({
  usage: maybe(
    z.looseObject({ prompt_tokens: z.unknown().optional(), total_tokens: z.unknown().optional() }),
  ),
});

/** OpenAI's own form, which most makers and servers have, with members of theirs. */
export const OPENAI_FORM: EmbeddingsForm = {
  async write({ request, inputs, isWhole, candidate: { model, route } }) {
    const { base64Embeddings, tokenInputs, refusedMembers, renamedMembers } = route.quirks;
    const sent: Record<string, unknown> = { ...request, model };
    if (!tokenInputs && inputs.kind === 'tokens') sent.input = await textsOf(inputs);
    else if (!isWhole) sent.input = membersOf(inputs);
    const without = base64Embeddings ? refusedMembers : [...refusedMembers, 'encoding_format'];
    const members = Object.entries(sent).flatMap(([name, value]) =>
      without.includes(name) ? [] : [[renamedMembers[name] ?? name, value] as const],
    );
    const body = Object.fromEntries(members);
    return {
      body: isSame(body, request) ? null : body,
      dropped: refusedMembers.filter((name) => (sent[name] ?? null) !== null),
    };
  },
  vectorsOf(reply) {
    const data = readSchema(Reply, reply)?.data.data;
    if (data === undefined) return null;
    const vectors: Vector[] = [];
    for (const [at, { index = at, embedding }] of data.entries()) {
      if (!isVector(embedding)) return null;
      vectors[index] = embedding;
    }
    return vectors;
  },
  tokensOf(reply) {
    const usage = readSchema(Reported, reply)?.data.usage;
    return reportedCount(usage?.prompt_tokens) || reportedCount(usage?.total_tokens) || null;
  },
};

const isSame = (
  body: Readonly<Record<string, unknown>>,
  request: Readonly<Record<string, unknown>>,
): boolean =>
  Object.keys(body).length === Object.keys(request).length &&
  Object.entries(body).every(([name, value]) => request[name] === value);

/** Whether a reply's vectors are in the order of the inputs. */
export const isInOrder = (reply: unknown): boolean =>
  readSchema(Reply, reply)?.data.data.every(({ index }, at) => index === at) ?? false;

/** Whether this is a vector of numbers, or one in base64. */
export const isVector = (value: unknown): value is Vector =>
  typeof value === 'string'
    ? value !== ''
    : Array.isArray(value) && value.length > 0 && value.every(Number.isFinite);
