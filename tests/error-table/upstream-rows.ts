import { wavFile } from '../support/media-files.ts';
import {
  anthropic,
  completions,
  type ErrorCase,
  type ErrorRow,
  embeddings,
  images,
  messages,
  moderations,
  openai,
  rerank,
  responses,
  speech,
  transcriptions,
} from './error-row.ts';

type Expected = readonly [ReturnType<typeof openai>, ReturnType<typeof anthropic>];

interface Instruction {
  /** The simulator's instruction for the fault. */
  readonly words?: string;
  readonly model?: string;
}

/** Both text protocols, whole and streamed: before its first output a stream fails as a whole reply does. */
const texts = ({ words = '', model }: Instruction, [o, a]: Expected): ErrorCase[] => {
  const text = words === '' ? 'hello' : `[[simulate ${words}]]`;
  const named = model === undefined ? {} : { model };
  return [false, true].flatMap((stream) => [
    responses({ input: text, stream, ...named }, o),
    messages({ messages: [{ role: 'user', content: text }], stream, ...named }, a),
  ]);
};

const media = ({ words = '', model }: Instruction, error: ReturnType<typeof openai>): ErrorCase[] => {
  const text = words === '' ? 'hello' : `[[simulate ${words}]]`;
  const named = (kind: string) => (model === undefined ? {} : { model: `${model}-${kind}` });
  return [
    images({ prompt: text, ...named('image') }, error),
    speech({ input: text, ...named('speech') }, error),
    transcriptions({ model: 'whisper-1', file: wavFile(1), prompt: text, ...named('transcription') }, error),
  ];
};

/** Bare prompts, and what answers at once. */
const small = ({ words = '', model }: Instruction, error: ReturnType<typeof openai>): ErrorCase[] => {
  const text = words === '' ? 'hello' : `[[simulate ${words}]]`;
  const named = (kind: string) => (model === undefined ? {} : { model: `${model}${kind}` });
  return [
    completions({ prompt: text, ...named('') }, error),
    completions({ prompt: text, stream: true, ...named('') }, error),
    embeddings({ input: text, ...named('-embedding') }, error),
    rerank({ query: text, ...named('-rerank') }, error),
    moderations({ input: text, ...named('-moderation') }, error),
  ];
};

const INVALID = 'invalid_request_error';
const server = (status: number, code: string) => openai(status, ['server_error', code]);
const apiError = anthropic(500, 'api_error');
const overloaded = anthropic(529, 'overloaded_error');

const failed: Expected = [server(502, 'upstream_error'), apiError];
const unavailable: Expected = [server(503, 'upstream_unavailable'), overloaded];
const busy: Expected = [
  openai(503, ['service_unavailable_error', 'server_is_overloaded'], /try again/),
  overloaded,
];
const late: Expected = [server(504, 'upstream_timeout'), anthropic(504, 'timeout_error')];
const limited: Expected = [
  openai(429, ['requests', 'rate_limit_exceeded'], /Please try again in 7s\.$/),
  anthropic(429, 'rate_limit_error', /./),
];
const unknownOutcome = server(502, 'outcome_unknown');

const fromUpstream = { refusedBy: 'upstream' } as const;

/** What a provider can do instead of answering, before its first output. */
export const UPSTREAM_ROWS: Record<string, ErrorRow> = {
  'a prompt that is too long': {
    ...fromUpstream,
    retry: false,
    cases: texts({ words: 'context-length' }, [
      openai(400, [INVALID, 'context_length_exceeded', 'input'], /exceeds the context window/),
      anthropic(400, INVALID, /^prompt is too long: 213456 tokens > 200000 maximum$/),
    ]),
  },
  'content that the provider refuses': {
    ...fromUpstream,
    retry: false,
    cases: [
      ...texts({ words: 'content-policy' }, [
        openai(400, [INVALID, 'content_policy_violation'], /safety system/),
        anthropic(400, INVALID, /content filtering policy/),
      ]),
      images(
        { prompt: '[[simulate content-policy]]' },
        openai(400, [INVALID, 'content_policy_violation'], /safety system/),
      ),
    ],
  },
  "another mistake of the caller's": {
    ...fromUpstream,
    retry: false,
    cases: [
      ...texts({ words: 'status=400' }, [
        openai(400, [INVALID, null], /^The request was refused by the simulated provider\.$/),
        anthropic(400, INVALID, /^The request was refused by the simulated provider\.$/),
      ]),
      ...media({ words: 'status=400' }, openai(400, [INVALID, null], /refused by the simulated provider/)),
      ...small({ words: 'status=400' }, openai(400, [INVALID, null], /refused by the simulated provider/)),
    ],
  },
  "the gateway's own key is wrong": {
    ...fromUpstream,
    retry: false,
    cases: [
      ...texts({ model: 'wrong-key' }, failed),
      ...media({ model: 'wrong-key' }, failed[0]),
      ...small({ model: 'wrong-key' }, failed[0]),
    ],
  },
  'the gateway may not do that there': {
    ...fromUpstream,
    retry: false,
    cases: texts({ words: 'status=403' }, failed),
  },
  'the model is not there': {
    ...fromUpstream,
    retry: false,
    cases: texts({ words: 'model-not-found' }, failed),
  },
  "something of the caller's that the provider does not know": {
    ...fromUpstream,
    retry: false,
    cases: texts({ words: 'object-not-found' }, [
      openai(404, [INVALID, null], /^Vector store with id 'vs_68a1b2c3' not found\.$/),
      anthropic(404, 'not_found_error', /^File not found: file_011CNha8iCJc$/),
    ]),
  },
  'a rate limit': {
    ...fromUpstream,
    retry: true,
    headers: { 'retry-after': '7' },
    cases: [
      ...texts({ words: 'status=429 retry-after=7' }, limited),
      ...media({ words: 'status=429 retry-after=7' }, limited[0]),
      ...small({ words: 'status=429 retry-after=7' }, limited[0]),
    ],
  },
  'no quota left': {
    ...fromUpstream,
    retry: true,
    cases: [...texts({ words: 'quota' }, unavailable), ...small({ words: 'quota' }, unavailable[0])],
  },
  'a failure': {
    ...fromUpstream,
    retry: true,
    cases: [
      ...texts({ words: 'status=500' }, failed),
      ...media({ words: 'status=500' }, failed[0]),
      ...small({ words: 'status=500' }, failed[0]),
    ],
  },
  'a page of HTML': {
    ...fromUpstream,
    retry: true,
    cases: [...texts({ words: 'html' }, failed), ...small({ words: 'html' }, failed[0])],
  },
  'an empty body': {
    ...fromUpstream,
    retry: true,
    cases: [...texts({ words: 'empty' }, failed), ...small({ words: 'empty' }, failed[0])],
  },
  'a body that is no JSON': {
    ...fromUpstream,
    retry: true,
    cases: [...texts({ words: 'garbage' }, failed), ...small({ words: 'garbage' }, failed[0])].filter(
      ({ request }) => !isStreamed(request),
    ),
  },
  'a connection closed without a byte': {
    ...fromUpstream,
    retry: true,
    cases: [
      ...texts({ words: 'close-before-response' }, failed),
      ...small({ words: 'close-before-response' }, failed[0]),
    ],
  },
  'a connection closed without a byte while paid work was requested': {
    ...fromUpstream,
    retry: false,
    cases: [
      images({ prompt: '[[simulate close-before-response]]' }, unknownOutcome),
      speech({ input: '[[simulate close-before-response]]' }, unknownOutcome),
    ],
  },
  'an overloaded provider': {
    ...fromUpstream,
    retry: true,
    cases: [...texts({ words: 'overloaded' }, busy), ...small({ words: 'overloaded' }, busy[0])],
  },
  'a refused connection': {
    ...fromUpstream,
    retry: true,
    cases: [
      ...texts({ model: 'refusing' }, failed),
      ...media({ model: 'refusing' }, failed[0]),
      ...small({ model: 'refusing' }, failed[0]),
    ],
  },
  'a host name that does not resolve': {
    ...fromUpstream,
    retry: true,
    cases: texts({ model: 'nowhere' }, failed),
  },
  'a reply that does not begin': {
    ...fromUpstream,
    retry: true,
    cases: [
      ...texts({ model: 'impatient', words: 'slow-first-byte=600000' }, late),
      ...small({ model: 'impatient', words: 'slow-first-byte=600000' }, late[0]),
    ],
  },
  'a stream whose first event does not come': {
    ...fromUpstream,
    retry: true,
    cases: texts({ model: 'impatient', words: 'slow-first-event=600000' }, late).filter(({ request }) =>
      isStreamed(request),
    ),
  },
  'paid work that does not begin to answer': {
    ...fromUpstream,
    retry: false,
    cases: [
      images({ model: 'impatient-image', prompt: '[[simulate slow-first-byte=600000]]' }, unknownOutcome),
      speech({ model: 'impatient-speech', input: '[[simulate slow-first-byte=600000]]' }, unknownOutcome),
    ],
  },
};

function isStreamed({ json }: ErrorCase['request']): boolean {
  return typeof json === 'object' && json !== null && 'stream' in json && json.stream === true;
}
