import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import fc from 'fast-check';
import type { TextProtocol } from '../wire/replies.ts';
import { readStream } from '../wire/streams.ts';
import { problemsOf, sendRequest } from './check-reply.ts';
import { byteMutation, mutated, mutatedBytes, mutation } from './json-mutations.ts';
import { few, type OpenProperty, open } from './open-property.ts';
import { JSON_REQUESTS, TEXT_MODELS, type ValidRequest } from './valid-requests.ts';

/** What providers answer: whatever it is, a caller gets an answer of its protocol or an error of its protocol. */

const PROTOCOLS: Readonly<Record<string, TextProtocol>> = {
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
  '/v1/chat/completions': 'chat',
};
const PATHS: Readonly<Record<(typeof TEXT_MODELS)[number], string>> = {
  'over-responses': '/v1/responses',
  'over-messages': '/v1/messages',
  'over-chat': '/v1/chat/completions',
};

const modelOf = ({ json }: ValidRequest): string => ('model' in json ? String(json.model) : '');
const isStreamed = ({ json }: ValidRequest): boolean => 'stream' in json && json.stream === true;
const isGenerating = ({ path }: ValidRequest): boolean => path in PROTOCOLS;
const STREAMED = JSON_REQUESTS.filter((request) => isGenerating(request) && isStreamed(request));
const WHOLE = JSON_REQUESTS.filter((request) => isGenerating(request) && !isStreamed(request));
const MEDIA = JSON_REQUESTS.filter(({ path }) => /images|speech/.test(path));

/** What the provider of a request's model answers ordinarily, in its own protocol. */
async function ordinaryReply(simulator: Simulator, request: ValidRequest): Promise<Buffer> {
  const model = TEXT_MODELS.find((name) => name === modelOf(request));
  const path = model === undefined ? request.path : PATHS[model];
  const stream = isStreamed(request);
  const own = JSON_REQUESTS.find(
    (each) => each.path === path && modelOf(each) === modelOf(request) && isStreamed(each) === stream,
  );
  const reply = await fetch(simulator.url + path, {
    method: 'POST',
    headers: {
      authorization: 'Bearer k',
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(own?.json ?? request.json),
  });
  if (!reply.ok) throw new Error(`${path} is refused: ${await reply.text()}`);
  return Buffer.from(await reply.arrayBuffer());
}

const replies = new Map<ValidRequest, Promise<Buffer>>();
/** Each is requested once. */
function replyTo(request: ValidRequest): Promise<Buffer> {
  const known = replies.get(request);
  if (known !== undefined) return known;
  const pending = startSimulator().then(async (simulator) => {
    const reply = await ordinaryReply(simulator, request);
    await simulator.close();
    return reply;
  });
  replies.set(request, pending);
  return pending;
}

const pick = (requests: readonly ValidRequest[], of: number): ValidRequest => {
  const request = requests[of % requests.length];
  if (request === undefined) throw new Error('no request');
  return request;
};

/** One event's data is changed as JSON. */
function withOtherEvent(stream: Buffer, at: number, change: (data: unknown) => unknown): Buffer {
  const frames = stream.toString().split('\n\n');
  const place = at % Math.max(1, frames.length - 1);
  const changed = frames.map((frame, index) =>
    index !== place
      ? frame
      : frame.replace(
          /^data: (\{.*)$/m,
          (_, json: string) => `data: ${JSON.stringify(change(JSON.parse(json)))}`,
        ),
  );
  return Buffer.from(changed.join('\n\n'));
}

/** Its provider's protocol is not the caller's, so that every byte of the reply is the gateway's. */
const isTranslated = (request: ValidRequest): boolean =>
  !modelOf(request).endsWith(PROTOCOLS[request.path] ?? '');

const body = ({ json }: ValidRequest) => Buffer.from(JSON.stringify(json));
const headers = { 'content-type': 'application/json' };

async function streamProblems(
  gateway: Parameters<OpenProperty['run']>[0],
  request: ValidRequest,
  sse: Buffer,
  cuts: 'whole' | 'events' | 'bytes',
): Promise<readonly string[]> {
  gateway.simulator.reset();
  gateway.simulator.script({ sse, cuts });
  const reply = await sendRequest(gateway, request.path, { body: body(request), headers });
  const protocol = PROTOCOLS[request.path];
  if (reply.status !== 200 || reply.end !== 'complete' || protocol === undefined) return problemsOf(reply);
  const { problems, failure, text } = readStream(reply, protocol);
  if (isTranslated(request))
    return problems.map((problem) => `${request.path} of ${modelOf(request)}: ${problem}`);
  // What passes is the provider's own, but for its end.
  return failure === null && text === null
    ? problems
    : problems.filter((problem) => problem.includes('ends with'));
}

const cuts = fc.constantFrom('whole', 'events', 'bytes');

export const UPSTREAM_PROPERTIES: readonly OpenProperty[] = [
  open({
    name: "a provider's events of other bytes",
    input: fc.record({ of: fc.nat(), mutations: few(byteMutation), cuts }),
    check: async (gateway, { of, mutations, cuts: pieces }) => {
      const request = pick(STREAMED, of);
      return streamProblems(gateway, request, mutatedBytes(await replyTo(request), mutations), pieces);
    },
  }),
  open({
    name: "a provider's events of another structure",
    input: fc.record({ of: fc.nat(), at: fc.nat({ max: 100 }), mutations: few(mutation), cuts }),
    check: async (gateway, { of, at, mutations, cuts: pieces }) => {
      const request = pick(STREAMED, of);
      const stream = withOtherEvent(await replyTo(request), at, (data) => mutated(data, mutations));
      return streamProblems(gateway, request, stream, pieces);
    },
  }),
  open({
    name: "a provider's answers of another structure",
    input: fc.record({ of: fc.nat(), mutations: few(mutation) }),
    check: async (gateway, { of, mutations }) => {
      const request = pick(WHOLE, of);
      gateway.simulator.reset();
      gateway.simulator.script({ json: mutated(JSON.parse((await replyTo(request)).toString()), mutations) });
      return problemsOf(await sendRequest(gateway, request.path, { body: body(request), headers }));
    },
  }),
  open({
    name: "a provider's pictures and sounds of other bytes",
    input: fc.record({
      of: fc.nat(),
      mutations: few(byteMutation),
      type: fc.constantFrom('own', 'text/html', 'application/json', ''),
    }),
    check: async (gateway, { of, mutations, type }) => {
      const request = pick(MEDIA, of);
      const own = isStreamed(request)
        ? 'text/event-stream'
        : request.path.includes('speech')
          ? 'audio/mpeg'
          : 'application/json';
      gateway.simulator.reset();
      gateway.simulator.script({
        body: mutatedBytes(await replyTo(request), mutations),
        headers: { 'content-type': type === 'own' ? own : type },
      });
      return problemsOf(await sendRequest(gateway, request.path, { body: body(request), headers }));
    },
  }),
];
