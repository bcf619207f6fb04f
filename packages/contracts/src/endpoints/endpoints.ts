import type { Dialect } from '../gateway-error.ts';
import type { EndpointScope } from '../identity.ts';
import type { JobArea } from '../jobs.ts';

export type ServiceName = 'text' | 'image' | 'audio' | 'retrieval';

/** The process that answers an endpoint: a service, or the edge itself. */
export type Responder = ServiceName | 'edge';

/** One row of the public surface. A path segment `{id}` matches one segment of any value; `{model}:verb` at the end one or several. */
export interface Endpoint<By extends Responder = Responder> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly service: By;
  /** The scope that a key needs for it; null if every valid key may call it. */
  readonly scope: EndpointScope | null;
  /** `public` endpoints have their own proof (a signed URL) and need no key. */
  readonly auth: 'key' | 'public';
  readonly summary: string;
}

const row = (
  method: Endpoint['method'],
  path: string,
  service: Responder,
  scope: Endpoint['scope'],
  summary: string,
  auth: Endpoint['auth'] = 'key',
): Endpoint => ({ method, path, service, scope, auth, summary });

/** What callers can do with the jobs of one area; a key sees its own only. */
function jobRows(
  area: JobArea,
  service: ServiceName,
  scope: Endpoint['scope'],
  batchScope: Endpoint['scope'],
): Endpoint[] {
  const jobs = `/v1/${area}/jobs`;
  return [
    row('POST', jobs, service, batchScope, 'Create many jobs, one for each line of JSONL'),
    row('GET', jobs, service, scope, 'List your jobs, newest first'),
    row('GET', `${jobs}/{id}`, service, scope, 'Read the status of a job'),
    row('DELETE', `${jobs}/{id}`, service, scope, 'Cancel a job, or remove its result'),
    row('GET', `${jobs}/{id}/result`, service, scope, "Fetch a job's result, as waiting would have given it"),
    row('GET', `${jobs}/{id}/events`, service, scope, "Follow a job's changes as server-sent events"),
  ];
}

/** Google's clients call one version of its API or the other. */
export const GOOGLE_BASES = ['/v1beta/models/{model}', '/v1/models/{model}'] as const;

const contentRows = (base: string): Endpoint[] => [
  row('POST', `${base}:generateContent`, 'text', 'gemini', 'Generate content'),
  row('POST', `${base}:streamGenerateContent`, 'text', 'gemini', 'Generate content as a stream'),
  row('POST', `${base}:countTokens`, 'text', 'gemini', "Count a content request's input tokens"),
];

const embedRows = (base: string): Endpoint[] => [
  row(
    'POST',
    `${base}:embedContent`,
    'retrieval',
    'embeddings',
    "Turn a text into a vector, in Google's form",
  ),
  row(
    'POST',
    `${base}:batchEmbedContents`,
    'retrieval',
    'embeddings',
    "Turn texts into vectors, in Google's form",
  ),
];

/** Where secrets for realtime sessions are made. */
export const CLIENT_SECRETS_PATH = '/v1/realtime/client_secrets';

/** Every path that callers can reach. The edge routes by it, the services mount by it, `/openapi.json` is made from it. */
export const ENDPOINTS: readonly Endpoint[] = [
  row('POST', '/v1/responses', 'text', 'responses', 'Generate a response'),
  row('GET', '/v1/responses/{id}', 'text', 'responses', 'Read a stored response'),
  row('DELETE', '/v1/responses/{id}', 'text', 'responses', 'Delete a stored response'),
  row('POST', '/v1/responses/{id}/cancel', 'text', 'responses', 'Cancel a background response'),
  row('GET', '/v1/responses/{id}/input_items', 'text', 'responses', "List a stored response's input items"),
  row('POST', '/v1/responses/input_tokens', 'text', 'responses', "Count a response request's input tokens"),
  row('POST', '/v1/responses/compact', 'text', 'responses', 'Compact a conversation'),
  row('POST', '/v1/conversations', 'text', 'responses', 'Begin a conversation'),
  row('GET', '/v1/conversations/{id}', 'text', 'responses', 'Read a conversation'),
  row('POST', '/v1/conversations/{id}', 'text', 'responses', "Replace a conversation's metadata"),
  row('DELETE', '/v1/conversations/{id}', 'text', 'responses', 'Delete a conversation'),
  row('POST', '/v1/conversations/{id}/items', 'text', 'responses', 'Add items to a conversation'),
  row('GET', '/v1/conversations/{id}/items', 'text', 'responses', "List a conversation's items"),
  row('GET', '/v1/conversations/{id}/items/{item_id}', 'text', 'responses', "Read a conversation's item"),
  row(
    'DELETE',
    '/v1/conversations/{id}/items/{item_id}',
    'text',
    'responses',
    "Delete a conversation's item",
  ),
  row('POST', '/v1/messages', 'text', 'messages', 'Generate a message'),
  row('POST', '/v1/messages/count_tokens', 'text', 'messages', "Count a message request's input tokens"),
  row('POST', '/v1/chat/completions', 'text', 'chat', 'Generate a chat completion'),
  row('POST', '/v1/completions', 'text', 'completions', 'Go on with a bare prompt'),
  ...GOOGLE_BASES.flatMap(contentRows),
  row('POST', '/v1/files', 'text', 'files', 'Upload a file'),
  row('GET', '/v1/files', 'text', 'files', 'List your files, newest first'),
  row('GET', '/v1/files/{id}', 'text', 'files', "Read a file's details"),
  row('DELETE', '/v1/files/{id}', 'text', 'files', 'Delete a file'),
  row('GET', '/v1/files/{id}/content', 'text', 'files', "Fetch a file's content"),
  row('POST', '/v1/batches', 'text', 'batches', 'Create a batch of text requests from a file'),
  row('GET', '/v1/batches', 'text', 'batches', 'List your batches, newest first'),
  row('GET', '/v1/batches/{id}', 'text', 'batches', 'Read how far a batch is'),
  row('POST', '/v1/batches/{id}/cancel', 'text', 'batches', 'Cancel a batch'),
  row('POST', '/v1/messages/batches', 'text', 'batches', 'Create a batch of messages'),
  row('GET', '/v1/messages/batches', 'text', 'batches', 'List your batches of messages, newest first'),
  row('GET', '/v1/messages/batches/{id}', 'text', 'batches', 'Read how far a batch of messages is'),
  row('DELETE', '/v1/messages/batches/{id}', 'text', 'batches', 'Delete a batch of messages that has ended'),
  row('POST', '/v1/messages/batches/{id}/cancel', 'text', 'batches', 'Cancel a batch of messages'),
  row(
    'GET',
    '/v1/messages/batches/{id}/results',
    'text',
    'batches',
    'Fetch the results of a batch of messages',
  ),
  row(
    'GET',
    '/v1beta/models',
    'text',
    null,
    "List the models of text and embeddings that the key may use, in Google's form",
  ),
  row('GET', '/v1beta/models/{id}', 'text', null, "Read the details of a model, in Google's form"),
  row('GET', '/v1/models', 'text', null, 'List the models that the key may use'),
  row('GET', '/v1/models/{id}', 'text', null, 'Read the details of a model'),
  row('POST', '/v1/images/generations', 'image', 'images', 'Generate images from a prompt'),
  row('POST', '/v1/images/edits', 'image', 'images', 'Edit images by a prompt'),
  row('GET', '/v1/images/assets/{id}', 'image', null, 'Fetch an image by its signed URL', 'public'),
  ...jobRows('images', 'image', 'images', 'images'),
  row('POST', '/v1/audio/speech', 'audio', 'speech', 'Turn text into speech'),
  row('POST', '/v1/audio/transcriptions', 'audio', 'transcriptions', 'Turn speech into text'),
  row(
    'POST',
    '/v1/audio/translations',
    'audio',
    'transcriptions',
    'Turn speech of any language into English text',
  ),
  ...jobRows('audio', 'audio', null, 'speech'),
  row('POST', CLIENT_SECRETS_PATH, 'audio', 'realtime', 'Create a secret for one realtime session'),
  row('POST', '/v1/embeddings', 'retrieval', 'embeddings', 'Turn texts into vectors'),
  ...GOOGLE_BASES.flatMap(embedRows),
  row('POST', '/v1/rerank', 'retrieval', 'rerank', 'Sort documents by how well they answer a query'),
  row('POST', '/v2/rerank', 'retrieval', 'rerank', "The same, where Cohere's clients look for it"),
  row(
    'POST',
    '/v1/moderations',
    'retrieval',
    'moderations',
    'Classify texts and images by what may be harmful in them',
  ),
  row('GET', '/v1/key', 'edge', null, "Read what remains of your key's limits and budget"),
];

/** Whether a path names one object. One that names a model and what to do with it (`{model}:generateContent`) names none. */
export const namesObject = (path: string): boolean => path.includes('{') && !path.includes('}:');

/** Whether a request is for new work. Reading, deleting and cancelling (`GET`, `DELETE`, paths with an id) are not. */
export const isForWork = ({ method, path }: Endpoint): boolean => method === 'POST' && !namesObject(path);

/** The service counts such a request on its limits, in one step with what it reserves. */
const COUNTED_BY_SERVICE = new Set([
  '/v1/responses',
  '/v1/responses/compact',
  '/v1/messages',
  '/v1/chat/completions',
  '/v1/completions',
  ...GOOGLE_BASES.flatMap((base) => [
    ...[`${base}:generateContent`, `${base}:streamGenerateContent`],
    ...[`${base}:embedContent`, `${base}:batchEmbedContents`],
  ]),
  '/v1/embeddings',
  '/v1/rerank',
  '/v2/rerank',
  '/v1/moderations',
]);

/** Whether a request counts on its limits on requests in its service. The edge counts all others before it forwards them. */
export const isCountedByService = ({ method, path }: Endpoint): boolean =>
  method === 'POST' && COUNTED_BY_SERVICE.has(path);

/** Whether a caller may be held until a queued job has ended (`JOB_WAIT_LIMIT_MS`). */
export const mayWaitForJob = ({ method, scope }: Endpoint): boolean =>
  method === 'POST' && (scope === 'images' || scope === 'speech' || scope === 'transcriptions');

/** The path that offers a WebSocket besides HTTP. OpenAPI has no words for it but those of a description. */
export const WEBSOCKET: Endpoint<'text'> = {
  method: 'GET',
  path: '/v1/responses',
  service: 'text',
  scope: 'responses',
  auth: 'key',
  summary: 'Generate responses over a WebSocket',
};

/** A path that is a WebSocket alone. */
export const REALTIME: Endpoint<'audio'> = {
  method: 'GET',
  path: '/v1/realtime',
  service: 'audio',
  scope: 'realtime',
  auth: 'key',
  summary: 'Converse by voice over a WebSocket',
};

const SOCKETS: readonly Endpoint<'text' | 'audio'>[] = [WEBSOCKET, REALTIME];

/** The WebSocket that a path offers. */
export const socketAt = (path: string): Endpoint<'text' | 'audio'> | undefined =>
  SOCKETS.find((socket) => socket.path === path);

export const isSocket = (endpoint: Endpoint): endpoint is Endpoint<'text' | 'audio'> =>
  SOCKETS.some((socket) => socket === endpoint);

/** Below it are paths of Google's clients alone. */
export const GOOGLE_PREFIX = '/v1beta/';

/** The paths of Google's clients below the other version of its API. */
const GOOGLE_CALL =
  /^\/v1\/models\/[^?]*:(?:(?:stream|batch)?[gG]enerateContent|countTokens|(?:async)?(?:[bB]atch)?[eE]mbedContents?|predict(?:LongRunning)?)(?:\?|$)/;

/** What only Google's clients call, and the gateway does not have. */
const GOOGLE_MISSING =
  /^\/v1\/(?:cachedContents|fileSearchStores|interactions|tunedModels|corpora|operations|auth_tokens)(?:[/?]|$)/;

/** What only Anthropic's clients call, and the gateway does not have. */
const ANTHROPIC_CALL =
  /^\/v1\/(?:complete|agents|environments|sessions|memory_stores|vaults|user_profiles|organizations)(?:[/?]|$)/;

/** The body shape of a path: Anthropic's where its clients call, Google's where its clients call, OpenAI's everywhere else. */
export function dialectOf(path: string): Dialect {
  if (path === '/v1/messages' || path.startsWith('/v1/messages/') || path.startsWith('/v1/messages?'))
    return 'anthropic';
  if (ANTHROPIC_CALL.test(path)) return 'anthropic';
  const isGoogles = path.startsWith(GOOGLE_PREFIX) || GOOGLE_CALL.test(path) || GOOGLE_MISSING.test(path);
  return isGoogles ? 'google' : 'openai';
}
