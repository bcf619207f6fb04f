import { GatewayError } from '../gateway-error.ts';
import { GOOGLE_BASES } from './endpoints.ts';

/** Paths that clients of other servers call and the gateway does not have. */
interface MissingPaths {
  /** Each with everything below it; a segment `{id}` stands for one of any value, `{model}:verb` for a call of any model. */
  readonly paths: readonly string[];
  /** For the caller: what is missing and, where there is such a thing, what to use in its place. */
  readonly says: string;
}

/** Calls of a model by Google's clients. */
const callsOf = (...verbs: readonly string[]): readonly string[] =>
  GOOGLE_BASES.flatMap((base) => verbs.map((verb) => `${base}:${verb}`));

/** The table of the page on the API says the same. */
export const MISSING_PATHS: readonly MissingPaths[] = [
  {
    paths: ['/v1/assistants', '/v1/threads'],
    says: 'There is no Assistants API. Use POST /v1/responses, with /v1/conversations for what has to be remembered.',
  },
  {
    paths: ['/v1/complete', '/v1/fim'],
    says: 'Bare prompts, with a suffix too, go to POST /v1/completions. Conversations go to POST /v1/messages or /v1/chat/completions.',
  },
  {
    paths: ['/v1/chat/completions/{id}'],
    says: 'Chat completions are not stored. Responses are: use POST /v1/responses, then GET /v1/responses/{id}.',
  },
  {
    paths: ['/v1beta/batches'],
    says: "Batches are made in OpenAI's form or in Anthropic's. Use POST /v1/files, then POST /v1/batches; or POST /v1/messages/batches.",
  },
  {
    paths: ['/v1/uploads', '/v1beta/files', '/upload'],
    says: 'Files are not uploaded in parts or for other requests. POST /v1/files takes the lines of a batch; send what another request needs in the request itself.',
  },
  {
    paths: ['/v1/vector_stores', '/v1beta/fileSearchStores', '/v1/fileSearchStores'],
    says: 'There are no vector stores. Keep the vectors yourself: POST /v1/embeddings makes them, POST /v1/rerank sorts what was found.',
  },
  {
    paths: ['/v1/realtime/calls'],
    says: 'Realtime calls over WebRTC and SIP are not offered: their sound does not pass a gateway. Open a WebSocket at /v1/realtime?model=MODEL.',
  },
  {
    paths: ['/v1/realtime/sessions', '/v1/realtime/transcription_sessions'],
    says: 'This is the older form. Use POST /v1/realtime/client_secrets, then a WebSocket at /v1/realtime?model=MODEL.',
  },
  {
    paths: ['/v1/realtime/translations'],
    says: 'Realtime translations are not offered. Open a WebSocket at /v1/realtime?model=MODEL and tell the model to translate.',
  },
  {
    paths: ['/v1/live'],
    says: 'The Live API is not offered. Open a WebSocket at /v1/realtime?model=MODEL.',
  },
  {
    paths: ['/v1/images/variations'],
    says: 'Variations of an image are not offered. Use POST /v1/images/edits with a prompt.',
  },
  { paths: ['/v1/videos'], says: 'Videos are not offered.' },
  {
    paths: ['/v1/audio/voices', '/v1/audio/voice_consents'],
    says: "Voices are not made or listed here. POST /v1/audio/speech takes those of the model's provider by their names.",
  },
  {
    paths: ['/v1/ocr', '/v1/search', '/v1/rag', '/v1/decisions', '/v1/content_provenance_checks'],
    says: 'This is not offered. Models read documents and search the web in POST /v1/responses and POST /v1/messages.',
  },
  {
    paths: ['/mcp', '/v1/mcp'],
    says: 'There is no MCP server here. Name one among the tools of POST /v1/responses or POST /v1/messages, and its provider calls it.',
  },
  {
    paths: ['/v1/edits', '/v1/engines'],
    says: 'OpenAI has retired this. Use POST /v1/chat/completions, or POST /v1/completions for bare prompts.',
  },
  {
    paths: ['/v1/score', '/v1/pooling', '/v1/classify', '/tokenize', '/detokenize'],
    says: "This is a server's own. Use POST /v1/rerank for scores, and POST /v1/responses/input_tokens to count tokens.",
  },
  {
    paths: ['/v1/fine_tuning', '/v1/fine-tunes', '/v1/evals', '/v1beta/tunedModels', '/v1/tunedModels'],
    says: 'Models are neither trained nor evaluated here. Do it at the provider; the gateway serves the model once it is configured.',
  },
  {
    paths: [
      ...['/v1/containers', '/v1/skills', '/v1/agents', '/v1/environments', '/v1/sessions'],
      ...['/v1/memory_stores', '/v1/vaults', '/v1/user_profiles', '/v1/chatkit'],
    ],
    says: 'Containers, skills and agents of a provider are not offered. Run tools on your side, with POST /v1/responses or /v1/messages.',
  },
  {
    paths: ['/v1beta/interactions', '/v1/interactions'],
    says: 'The Interactions API is not offered. Use POST /v1beta/models/{model}:generateContent.',
  },
  {
    paths: ['/v1/projects', '/v1beta1/projects'],
    says: "Vertex AI's own paths are not offered. Use POST /v1beta/models/{model}:generateContent.",
  },
  {
    paths: callsOf('asyncBatchEmbedContent'),
    says: "Batches of embeddings are made in OpenAI's form. Use POST /v1/files, then POST /v1/batches; or POST /v1beta/models/{model}:batchEmbedContents without waiting.",
  },
  {
    paths: callsOf('predict', 'predictLongRunning'),
    says: 'Predictions are not offered. Use POST /v1/images/generations for images; videos are not offered.',
  },
  {
    paths: callsOf('batchGenerateContent'),
    says: 'Batches in the Gemini form are not offered. Use POST /v1beta/models/{model}:generateContent.',
  },
  {
    paths: [
      ...['/v1beta/corpora', '/v1/corpora', '/v1beta/operations', '/v1/operations'],
      ...['/v1beta/auth_tokens', '/v1/auth_tokens', '/v1alpha', '/ws'],
    ],
    says: 'Of the Gemini API only models are offered, below /v1beta. Use POST /v1beta/models/{model}:generateContent; for voice, a WebSocket at /v1/realtime?model=MODEL.',
  },
  {
    paths: ['/v1beta/cachedContents', '/v1/cachedContents'],
    says: 'Contents are not cached by name. Send them with each request; providers cache what comes again.',
  },
  {
    paths: ['/v1/organization', '/v1/organizations', '/v1/usage', '/v1/dashboard', '/dashboard'],
    says: 'Usage and people are not part of this API. What remains of your key is at GET /v1/key; for all else there is the admin API.',
  },
  {
    paths: ['/key', '/user', '/team', '/model', '/v1/model', '/spend'],
    says: 'Keys and models are managed by the admin API. What remains of your key is at GET /v1/key, and the models are at GET /v1/models.',
  },
  {
    paths: ['/api/chat', '/api/generate'],
    says: "Ollama's own API is not offered. Use its OpenAI form: POST /v1/chat/completions.",
  },
  {
    paths: ['/api/tags', '/api/show', '/api/ps', '/api/version', '/api/pull'],
    says: "Ollama's own API is not offered. Use its OpenAI form: GET /v1/models lists the models.",
  },
  {
    paths: ['/api/embed', '/api/embeddings', '/v1/embed', '/v2/embed'],
    says: 'Vectors are made in the OpenAI form. Use POST /v1/embeddings.',
  },
  { paths: ['/v2/chat'], says: "Cohere's own chat is not offered. Use POST /v1/chat/completions." },
  {
    paths: [
      ...['/chat', '/responses', '/messages', '/models', '/embeddings', '/rerank', '/images', '/audio'],
      ...['/completions', '/moderations', '/files', '/batches', '/realtime', '/conversations'],
    ],
    says: 'The paths of this API begin with /v1. Let the base URL of your client end with /v1.',
  },
  {
    paths: ['/v1/v1'],
    says: 'The path has /v1 twice, since your client adds it. Let the base URL end before /v1.',
  },
  {
    paths: ['/openai', '/v1beta/openai', '/v1/openai', '/anthropic'],
    says: "The paths of this API begin with /v1, without a provider's name. Use the gateway's address and /v1 as the base URL of OpenAI's clients, the address alone for Anthropic's.",
  },
];

/** The error for a request whose path, which is without its query string, the gateway does not have. */
export function pathNotFound(method: string | undefined, path: string): GatewayError {
  const known = missingAt(path);
  const invalid = `Invalid URL (${method} ${path})`;
  return new GatewayError('path_not_found', known === undefined ? invalid : `${invalid}. ${known.says}`);
}

/** Whether the gateway knows the path only as one that it does not have, whatever else would match it. */
export const isKnownMissing = (path: string): boolean => missingAt(path) !== undefined;

const missingAt = (path: string): MissingPaths | undefined =>
  MISSING_PATHS.find(({ paths }) => paths.some((pattern) => isAtOrBelow(pattern, path)));

function isAtOrBelow(pattern: string, path: string): boolean {
  const found = path.split('/');
  return pattern.split('/').every((segment, at) => isOf(segment, found[at] ?? ''));
}

/** Whether a segment of a path is what a pattern's segment stands for. */
function isOf(pattern: string, segment: string): boolean {
  if (!pattern.startsWith('{')) return pattern === segment;
  const verb = pattern.slice(pattern.indexOf('}') + 1);
  return segment.length > verb.length && segment.endsWith(verb);
}
