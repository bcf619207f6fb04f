import { readJson } from '../checks/read-json.ts';
import { REFUSED_AT_BEDROCK } from '../clouds/bedrock.ts';
import { type RefusedParts, refusedPart } from '../clouds/refused-parts.ts';
import { asList, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { createMessage } from '../messages/create-message.ts';
import { isKnownModel } from '../models/list-models.ts';
import { type Chunk, EVENT_STREAM, type Reply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { RecordedRequest } from '../requests/recorded-request.ts';
import { invalidConverse } from './check-request.ts';
import { eventOf, exceptionOf, paddingOf } from './event-message.ts';
import { invokeImages } from './invoke-images.ts';
import { invokeRetrieval } from './invoke-retrieval.ts';

/** The documented version, and the one that Anthropic's own client writes since November 2026. */
const VERSIONS: readonly unknown[] = ['bedrock-2023-05-31', '2026-10-21'];
/** Newer models take fewer. */
const KNOWN_BETAS = [
  'computer-use-2025-01-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'token-efficient-tools-2025-02-19',
  'tool-search-tool-2025-10-19',
];
const KNOWN_BETAS_OF_NEWER = ['interleaved-thinking-2025-05-14'];
const NEWER = /claude-(?:opus|sonnet|haiku)-(?:4-[7-9]|[5-9])/;

/** Betas are in its body, and have been looked at there. */
const REFUSED: RefusedParts = {
  ...REFUSED_AT_BEDROCK,
  betas: [],
  members: [...REFUSED_AT_BEDROCK.members, 'tools.*.eager_input_streaming', 'service_tier'],
};

/** What the answer calls its model. */
const makersName = (id: string): string =>
  id.startsWith('arn:') ? 'claude-opus-5' : id.replace(/^.*\banthropic\./, '');

/** @throws ProviderError in AWS' words, for what is not Anthropic's body as InvokeModel takes it */
function messageIn(call: Call, streams: boolean): JsonObject {
  const {
    anthropic_version: version,
    anthropic_beta: betas,
    user_profile_id: _,
    ...message
  } = readJson(call);
  const model = decodeURIComponent(call.params[0] ?? '');
  const { accept } = call.request.headers;
  if (accept !== undefined && accept !== 'application/json' && accept !== '*/*')
    throw invalidConverse(`The Accept Type ${accept} is invalid.`);
  if (version === undefined) throw invalidConverse('anthropic_version: Field required');
  if (!VERSIONS.includes(version))
    throw invalidConverse(`anthropic_version: Input should be '${VERSIONS[0]}'`);
  for (const member of ['model', 'stream'])
    if (member in message) throw invalidConverse(`${member}: Extra inputs are not permitted`);
  const known = NEWER.test(model) ? KNOWN_BETAS_OF_NEWER : KNOWN_BETAS;
  if (asList(betas).some((beta) => !known.includes(asText(beta)))) throw invalidConverse('invalid beta flag');
  const refused = refusedPart(call.request, message, REFUSED);
  if (refused !== null) {
    const { error } = asObject(JSON.parse(String([...refused.chunks][0])));
    throw invalidConverse(asText(asObject(error).message));
  }
  if (!isKnownModel(model)) throw invalidConverse('The provided model identifier is invalid.');
  return { ...message, model: makersName(model), ...(streams && { stream: true }) };
}

/** The request as Anthropic itself would get it. */
function asAnthropic(call: Call, message: JsonObject): Call {
  const { method, headers, rawHeaders } = call.request;
  const { 'anthropic-beta': _, ...others } = headers;
  const request = new RecordedRequest({
    method,
    url: '/v1/messages',
    headers: { ...others, 'anthropic-version': '2023-06-01' },
    rawHeaders: [...rawHeaders],
  });
  request.markReceived(Buffer.from(JSON.stringify(message)));
  return { ...call, request };
}

/** `POST /model/{id}/invoke`, with a body of the model's maker: Anthropic's, unless the model has another one. */
export const invoke: Handler = (call) =>
  invokeRetrieval(call) ?? invokeImages(call) ?? createMessage(asAnthropic(call, messageIn(call, false)));

/** `POST /model/{id}/invoke-with-response-stream` */
export const invokeStream: Handler = async (call) => {
  const reply: Reply = await createMessage(asAnthropic(call, messageIn(call, true)));
  const errorFrames = () => [
    exceptionOf('modelStreamErrorException', { message: 'The model stream broke.', originalStatusCode: 500 }),
  ];
  return { ...reply, contentType: EVENT_STREAM, chunks: chunksOf(reply.chunks), errorFrames };
};

/** Each event in a `chunk`, the last one with the numbers that AWS adds. */
function* chunksOf(frames: Iterable<Chunk>): Generator<Buffer> {
  let usage: JsonObject = {};
  for (const frame of frames) {
    const event = asObject(JSON.parse(/^data: (.*)$/m.exec(String(frame))?.[1] ?? '{}'));
    if (isObject(event.message)) usage = asObject(event.message.usage);
    if (isObject(event.usage)) usage = { ...usage, ...event.usage };
    const metrics = {
      inputTokenCount: usage.input_tokens,
      outputTokenCount: usage.output_tokens,
      invocationLatency: 12,
      firstByteLatency: 3,
      cacheReadInputTokenCount: usage.cache_read_input_tokens,
      cacheWriteInputTokenCount: usage.cache_creation_input_tokens,
    };
    const isLast = event.type === 'message_stop';
    const sent = JSON.stringify({ ...event, ...(isLast && { 'amazon-bedrock-invocationMetrics': metrics }) });
    yield eventOf('chunk', { bytes: Buffer.from(sent).toString('base64'), p: paddingOf(sent.length) });
  }
}
