import type { IncomingMessage } from 'node:http';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { ModerationsRequest, USUAL_MODERATION_MODEL } from '@gateway/contracts/openai/moderations';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { modelFor } from '@gateway/upstream/model-for';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import { z } from 'zod';
import { callModel } from '../call/call-model.ts';
import type { Part } from '../call/send-parts.ts';
import { BYTES_PER_TOKEN, LEAST_BYTES_PER_TOKEN } from '../call/token-estimates.ts';
import type { RetrievalService } from '../retrieval-service.ts';

const Reply = z.looseObject({
  results: z.array(z.looseObject({})),
  usage: maybe(z.looseObject({ prompt_tokens: z.unknown().optional() })),
});

/** `POST /v1/moderations`: the same bytes go to a provider and come back. Categories are their maker's: nothing is translated. */
export const moderationsHandler =
  (service: RetrievalService) =>
  async (request: IncomingMessage, caller: Caller, entry: PendingEntry | undefined): Promise<void> => {
    const { upstream, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const context = contextOf(request);
    const identity = identityOf(request);
    const { value, bytes } = await readJsonBody(request, { maxBytes, maxDepth });
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
          headers: request.headers,
          body:
            order.model === candidate.model ? bytes : JSON.stringify({ ...order, model: candidate.model }),
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
    await callModel(service, {
      ...{ endpoint: 'moderations', model, candidates, parts: [part], caller, context, identity, entry },
      ...{ names: {}, bytes },
      write: ({ results }) => Buffer.concat(results),
    });
  };

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
