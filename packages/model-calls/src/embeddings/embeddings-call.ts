import { EmbeddingsRequest, type EncodingFormat } from '@gateway/contracts/openai/embeddings';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { isStrict } from '@gateway/model-service/jobs/job-wishes';
import { requestParameters } from '@gateway/model-service/tracing/request-parameters';
import { validate } from '@gateway/service-kit/request/validate';
import type { Candidate } from '@gateway/upstream/candidate';
import { modelFor } from '@gateway/upstream/model-for';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import type { ModelCallServices, SizedCall } from '../call/call-model.ts';
import type { Part } from '../call/send-parts.ts';
import type { SentRequest } from '../call/sent-request.ts';
import { BYTES_PER_TOKEN, LEAST_BYTES_PER_TOKEN } from '../call/token-estimates.ts';
import { unsupportedMember } from '../call/unsupported-member.ts';
import { FACES, type FaceName } from './faces.ts';
import { FORMS } from './forms/forms.ts';
import { countOf, cutInputs, type Inputs, inputsOf, tokensOf } from './inputs.ts';
import { readAnyReply } from './read-any-reply.ts';

/** Of a vector of which the request does not say how long it is. */
const MAX_DIMENSIONS = 3072;
/** Of a number in it. */
const MAX_NUMBER_BYTES: Readonly<Record<EncodingFormat, number>> = { float: 16, base64: 6 };

/** What one request to a provider came to: its whole reply, or its entries of `data`. */
type Embedded = { readonly whole: Buffer } | { readonly entries: Uint8Array };

interface VectorsSent extends Omit<SentRequest, 'value'> {
  readonly order: EmbeddingsRequest;
  /** In whose form it was sent and is answered. */
  readonly face: FaceName;
  /** What a request in Google's form has beside the order. */
  readonly google: {
    readonly titles: readonly (string | undefined)[];
    /** The order's `input_type` is a word that only Google has. */
    readonly isOwnPurpose: boolean;
    /** Members that no form has. */
    readonly unknown: readonly string[];
  } | null;
}

/** A request for vectors in OpenAI's form. @throws {GatewayError} for what the endpoint refuses */
export const embeddingsCall = (
  services: Pick<ModelCallServices, 'upstream'>,
  sent: SentRequest,
): SizedCall<Embedded> =>
  vectorsCall(services, {
    ...{ ...sent, order: validate(EmbeddingsRequest, sent.value), face: 'openai', google: null },
  });

/**
 * A request for vectors: the same bytes go to a provider with OpenAI's form, where nothing has to be changed, and come back. What has more
 * inputs than the provider takes in one request is sent in several.
 *
 * @throws {GatewayError} for what the endpoint refuses
 */
export function vectorsCall(
  { upstream }: Pick<ModelCallServices, 'upstream'>,
  sent: VectorsSent,
): SizedCall<Embedded> {
  const { order, face, google, bytes, headers: callers, caller, context, identity, entry } = sent;
  const model = modelFor(upstream, { name: order.model, protocols: ['embeddings'], identity });
  const candidates = upstream.candidates({ model, protocol: 'embeddings' });
  const inputs = inputsOf(order);
  const most = Math.min(...candidates.map(({ route }) => route.quirks.maxInputs));
  const cut = cutInputs(inputs, most);
  const wanted: EncodingFormat = order.encoding_format ?? 'float';
  const count = countOf(inputs);
  Object.assign(context.line, { model: model.name, inputs: count });
  if (context.trace?.isSampled) Object.assign(context.trace.noted, requestParameters(order));

  const takesTitles = candidates.some((candidate) => formOf(candidate).isGoogles === true);
  const titlesOf = (part: Inputs, firstIndex: number) =>
    google?.titles.slice(firstIndex, firstIndex + countOf(part)) ?? [];
  /** A title is read as the text below it is. */
  const consumedBy = (part: Inputs, firstIndex: number, bytesPerToken: number) => {
    const titles = takesTitles ? titlesOf(part, firstIndex).map((title = '') => title) : [];
    const inputTokens =
      tokensOf(part, bytesPerToken) + tokensOf({ kind: 'texts', texts: titles }, bytesPerToken);
    return { ...NOTHING_CONSUMED, inputTokens };
  };

  const partOf = (part: Inputs, firstIndex: number): Part<Embedded> => ({
    largest: consumedBy(part, firstIndex, LEAST_BYTES_PER_TOKEN),
    usual: consumedBy(part, firstIndex, BYTES_PER_TOKEN),
    async request(candidate) {
      const isWhole = cut.length === 1;
      const form = formOf(candidate);
      const titles = titlesOf(part, firstIndex);
      const isForGoogle = form.isGoogles === true;
      const { input_type: _, ...without } = order;
      const request = google?.isOwnPurpose && !isForGoogle ? without : order;
      const written = await form.write({
        ...{ request, inputs: part, isWhole, candidate, google: google && { titles } },
      });
      if (written instanceof Error) return written;
      const { body } = written;
      const names: Readonly<Record<string, string>> = FACES[face].names;
      const dropped = [
        ...written.dropped.map((name) => names[name] ?? name),
        ...(request === order ? [] : ['taskType']),
        ...(isForGoogle || titles.every((title) => title === undefined) ? [] : ['title']),
        ...(google?.unknown ?? []),
      ];
      const [lost] = dropped;
      if (lost !== undefined && isStrict({ headers: callers })) return unsupportedMember(lost);
      return {
        dropped,
        request: {
          operation: 'embeddings',
          method: 'POST',
          ...(form.method && { subpath: form.method }),
          ...(formNameOf(candidate) !== face && { translated: true as const }),
          headers: callers,
          body: body === null && face === 'openai' ? bytes : JSON.stringify(body ?? request),
        },
      };
    },
    async read(reply, candidate, headers) {
      const task = {
        ...{ form: formNameOf(candidate), bytes: reply, count: countOf(part) },
        ...{ firstIndex, wanted, face, isWhole: cut.length === 1 },
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
  return {
    ...{ endpoint: 'embeddings', model, candidates, parts, caller, context, identity, entry },
    ...{ names: { endUser: order.user ?? null }, bytes },
    write: ({ results, consumption: { inputTokens: tokens } }) =>
      bodyOf(results, FACES[face].around({ model: model.name, tokens })),
    // Vectors say nothing to a reader of the log.
    shown: ({ consumption }) => ({
      ...{ object: 'list', model: model.name, vectors: count },
      usage: usageOf(consumption.inputTokens),
    }),
    inputs: count,
    answerBytes: count * (order.dimensions ?? MAX_DIMENSIONS) * MAX_NUMBER_BYTES[wanted],
  };
}

const formNameOf = ({ route }: Pick<Candidate, 'route'>) => route.quirks.embeddingsForm;
const formOf = (candidate: Pick<Candidate, 'route'>) => FORMS[formNameOf(candidate)];

/** The reply for the caller: the provider's own, or one of all parts' entries. */
function bodyOf(results: readonly Embedded[], [before, after]: readonly [string, string]): Buffer {
  const [first] = results;
  if (first !== undefined && 'whole' in first) return first.whole;
  const pieces: Uint8Array[] = [Buffer.from(before)];
  for (const [at, result] of results.entries()) {
    if (at > 0) pieces.push(Buffer.from(','));
    if ('entries' in result) pieces.push(result.entries);
  }
  pieces.push(Buffer.from(after));
  return Buffer.concat(pieces);
}

const usageOf = (tokens: number) => ({ prompt_tokens: tokens, total_tokens: tokens });
