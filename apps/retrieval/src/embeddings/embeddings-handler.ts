import type { IncomingMessage } from 'node:http';
import { EmbeddingsRequest, type EncodingFormat } from '@gateway/contracts/openai/embeddings';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import { isStrict } from '@gateway/model-service/jobs/job-wishes';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { Candidate } from '@gateway/upstream/candidate';
import { modelFor } from '@gateway/upstream/model-for';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import { callModel } from '../call/call-model.ts';
import type { Part } from '../call/send-parts.ts';
import { BYTES_PER_TOKEN, LEAST_BYTES_PER_TOKEN } from '../call/token-estimates.ts';
import { unsupportedMember } from '../call/unsupported-member.ts';
import type { RetrievalService } from '../retrieval-service.ts';
import { FORMS } from './forms/forms.ts';
import { countOf, cutInputs, type Inputs, inputsOf, tokensOf } from './inputs.ts';
import { readAnyReply } from './read-any-reply.ts';

/** OpenAI takes 300,000 tokens in 2048 inputs. */
const MAX_VALUES = 310_000;

/** What one request to a provider came to: its whole reply, or its entries of `data`. */
type Embedded = { readonly whole: Buffer } | { readonly entries: Uint8Array };

/**
 * `POST /v1/embeddings`: the same bytes go to a provider with OpenAI's form, where nothing has to be changed, and come back. What has more
 * inputs than the provider takes in one request is sent in several.
 */
export const embeddingsHandler =
  (service: RetrievalService) =>
  async (request: IncomingMessage, caller: Caller, entry: PendingEntry | undefined): Promise<void> => {
    const { upstream, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const context = contextOf(request);
    const identity = identityOf(request);
    const { value, bytes } = await readJsonBody(request, { maxBytes, maxDepth, maxValues: MAX_VALUES });
    const order = validate(EmbeddingsRequest, value);
    const model = modelFor(upstream, { name: order.model, protocols: ['embeddings'], identity });
    const candidates = upstream.candidates({ model, protocol: 'embeddings' });
    const inputs = inputsOf(order);
    const most = Math.min(...candidates.map(({ route }) => route.quirks.maxInputs));
    const cut = cutInputs(inputs, most);
    const wanted: EncodingFormat = order.encoding_format ?? 'float';
    Object.assign(context.line, { model: model.name, inputs: countOf(inputs) });

    const partOf = (part: Inputs, firstIndex: number): Part<Embedded> => ({
      largest: { ...NOTHING_CONSUMED, inputTokens: tokensOf(part, LEAST_BYTES_PER_TOKEN) },
      usual: { ...NOTHING_CONSUMED, inputTokens: tokensOf(part, BYTES_PER_TOKEN) },
      async request(candidate) {
        const isWhole = cut.length === 1;
        const form = formOf(candidate);
        const written = await form.write({ request: order, inputs: part, isWhole, candidate });
        if (written instanceof Error) return written;
        const { body, dropped } = written;
        const [lost] = dropped;
        if (lost !== undefined && isStrict(request)) return unsupportedMember(lost);
        return {
          dropped,
          request: {
            operation: 'embeddings',
            method: 'POST',
            ...(form.method && { subpath: form.method }),
            ...(formNameOf(candidate) !== 'openai' && { translated: true as const }),
            headers: request.headers,
            body: body === null ? bytes : JSON.stringify(body),
          },
        };
      },
      async read(reply, candidate, headers) {
        const task = {
          ...{ form: formNameOf(candidate), bytes: reply, count: countOf(part) },
          ...{ firstIndex, wanted, isWhole: cut.length === 1 },
        };
        const waiter = { owner: identity.keyId, signal: context.signal };
        const { tokens: ofBody, entries } = await readAnyReply(task, waiter);
        const tokens = ofBody ?? (reportedCount(headers[formOf(candidate).tokenHeader ?? '']) || null);
        return {
          reported: tokens === null ? null : { ...NOTHING_CONSUMED, inputTokens: tokens },
          result:
            entries === null
              ? new UnreadableReply(`The upstream did not answer with ${countOf(part)} vectors.`)
              : entries === 'as-wanted'
                ? { whole: reply }
                : { entries },
        };
      },
    });
    const parts = cut.map((part, index) => partOf(part, index * most));
    await callModel(service, {
      ...{ endpoint: 'embeddings', model, candidates, parts, caller, context, identity, entry },
      ...{ names: { endUser: order.user ?? null }, bytes },
      write: ({ results, consumption }) => bodyOf(results, model.name, consumption.inputTokens),
      // Vectors say nothing to a reader of the log.
      shown: ({ consumption }) => ({
        ...{ object: 'list', model: model.name, vectors: countOf(inputs) },
        usage: usageOf(consumption.inputTokens),
      }),
    });
  };

const formNameOf = ({ route }: Pick<Candidate, 'route'>) => route.quirks.embeddingsForm;
const formOf = (candidate: Pick<Candidate, 'route'>) => FORMS[formNameOf(candidate)];

/** The reply for the caller: the provider's own, or one of all parts' entries. */
function bodyOf(results: readonly Embedded[], model: string, tokens: number): Buffer {
  const [first] = results;
  if (first !== undefined && 'whole' in first) return first.whole;
  const pieces: Uint8Array[] = [Buffer.from('{"object":"list","data":[')];
  for (const [at, result] of results.entries()) {
    if (at > 0) pieces.push(Buffer.from(','));
    if ('entries' in result) pieces.push(result.entries);
  }
  pieces.push(Buffer.from(`],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usageOf(tokens))}}`));
  return Buffer.concat(pieces);
}

const usageOf = (tokens: number) => ({ prompt_tokens: tokens, total_tokens: tokens });
