import { jsonIn } from '@gateway/contracts/json/json-object';
import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { ModerationsRequest, USUAL_MODERATION_MODEL } from '@gateway/contracts/openai/moderations';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { validate } from '@gateway/service-kit/request/validate';
import { modelFor } from '@gateway/upstream/model-for';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import { z } from 'zod';
import type { ModelCallServices, SizedCall } from '../call/call-model.ts';
import type { Part } from '../call/send-parts.ts';
import type { SentRequest } from '../call/sent-request.ts';
import { BYTES_PER_TOKEN, LEAST_BYTES_PER_TOKEN } from '../call/token-estimates.ts';

/** Scores of some twenty categories. */
const MAX_RESULT_BYTES = 4096;

const Reply = z.looseObject({
  results: z.array(z.looseObject({})),
  usage: maybe(z.looseObject({ prompt_tokens: z.unknown().optional() })),
});

/**
 * What is to be judged: the same bytes go to a provider and come back. Categories are their maker's: nothing is translated.
 *
 * @throws {GatewayError} for what the endpoint refuses
 */
export function moderationsCall(
  { upstream }: Pick<ModelCallServices, 'upstream'>,
  sent: SentRequest,
): SizedCall<Buffer> {
  const { value, bytes, headers, caller, context, identity, entry } = sent;
  const order = validate(ModerationsRequest, value);
  const name = order.model ?? USUAL_MODERATION_MODEL;
  const model = modelFor(upstream, { name, protocols: ['moderations'], identity });
  const candidates = upstream.candidates({ model, protocol: 'moderations' });
  const { texts, inputs } = readInput(order.input);
  Object.assign(context.line, { model: model.name, inputs });

  const part: Part<Buffer> = {
    largest: consumption(texts, LEAST_BYTES_PER_TOKEN),
    usual: consumption(texts, BYTES_PER_TOKEN),
    request: async (candidate) => ({
      dropped: [],
      request: {
        operation: 'moderations',
        method: 'POST',
        headers,
        body: order.model === candidate.model ? bytes : JSON.stringify({ ...order, model: candidate.model }),
      },
    }),
    async read(reply) {
      const read = readSchema(Reply, jsonIn(reply.toString()))?.data;
      const tokens = reportedCount(read?.usage?.prompt_tokens) || null;
      return {
        reported: tokens === null ? null : { ...NOTHING_CONSUMED, inputTokens: tokens },
        result:
          read?.results.length === inputs
            ? reply
            : new UnreadableReply(`The upstream did not answer with ${inputs} results.`),
      };
    },
  };
  return {
    ...{ endpoint: 'moderations', model, candidates, parts: [part], caller, context, identity, entry },
    ...{ names: {}, bytes },
    write: ({ results }) => Buffer.concat(results),
    inputs,
    answerBytes: inputs * MAX_RESULT_BYTES,
  };
}

/** The texts of the input, and how many inputs get a result each: every text of a list, or all parts together. */
function readInput(input: ModerationsRequest['input']): { texts: readonly string[]; inputs: number } {
  const entries = typeof input === 'string' ? [input] : input;
  const texts = entries.flatMap((one) => {
    if (typeof one === 'string') return [one];
    return one.type === 'text' ? [one.text] : [];
  });
  return { texts, inputs: entries.every((one) => typeof one === 'string') ? entries.length : 1 };
}

const consumption = (texts: readonly string[], bytesPerToken: number): Consumption => ({
  ...NOTHING_CONSUMED,
  inputTokens: texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / bytesPerToken), 0),
});
