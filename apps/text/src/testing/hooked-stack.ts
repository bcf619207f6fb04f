import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { redisNames } from '@gateway/metering/redis-names';
import { type HookServer, startHookServer } from '@gateway/testkit/start-hook-server';
import { waitFor } from '@gateway/testkit/wait-for';
import { replySlots } from '../call/hooks/text-slots.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { isObject, type JsonObject, objectOf, parseObject } from '../wire/json-object.ts';
import { type Stack, startStack } from './start-stack.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS, type TextProtocolName } from './text-pairs.ts';

/** The ways in which the models of this stack are checked. Their names are those of the way, a hyphen and the upstream's protocol. */
const WAYS = {
  before: 'input: before',
  open: 'input: before, output: window, onFailure: pass',
  beside: 'input: beside',
  window: 'input: off, output: window, windowChars: 20, overlapChars: 8',
  whole: 'input: off, output: whole',
  report: 'input: off, output: report',
  seeing: 'input: before, include: [images, tools]',
  short: 'input: before, output: whole, maxChars: 100',
};

export interface HookedStack extends AsyncDisposable {
  readonly stack: Stack;
  readonly hook: HookServer;
}

/** The text service before a provider and a hook, with a price of 1 $ for a million tokens. */
export async function startHooked(): Promise<HookedStack> {
  const resources = new AsyncDisposableStack();
  const hook = resources.use(await startHookServer());
  const stack = resources.use(
    await startStack({
      configuration: (first, second) => `
channels:
${TEXT_PROTOCOLS.map((one) => `  ${one}: { provider: simulator, baseUrl: "${first}", speaks: [${one}], cooldown: off }`).join('\n')}
  completions: { provider: simulator, baseUrl: "${first}", speaks: [completions], cooldown: off }
  gemini: { provider: gemini, baseUrl: "${first}/v1beta", apiKey: k, cooldown: off }
  broken: { provider: simulator, baseUrl: "${second}", speaks: [chat], cooldown: off }
models:
${Object.keys(WAYS)
  .flatMap((way) =>
    ([...TEXT_PROTOCOLS, 'gemini', 'completions'] as const).map(
      (one) =>
        `  ${way}-${one}: { kind: text, maxOutputTokens: 1000, price: { inputPerMTok: 1, outputPerMTok: 1 }, routes: [{ channel: ${one}, model: some-model }] }`,
    ),
  )
  .join('\n')}
  window-second: { kind: text, price: { inputPerMTok: 1, outputPerMTok: 1 }, routes: [{ channel: broken, model: m, priority: 0 }, { channel: chat, model: m, priority: 1 }] }
  free: { kind: text, price: { inputPerMTok: 1, outputPerMTok: 1 }, routes: [{ channel: chat, model: m }] }
contentLog: { rules: [{ models: [before-gemini], redact: [] }] }
hooks:
${Object.entries(WAYS)
  .map(
    ([way, settings]) =>
      `  ${way}: { kind: generic, baseUrl: "${hook.url}", apiKey: hook-secret-key, timeoutMs: 2000, ${settings}, params: { threshold: 0.5 }, rules: [{ models: ["${way}-*"] }] }`,
  )
  .join('\n')}
`,
    }),
  );
  return { stack, hook, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** What a caller got. */
export interface Got {
  readonly status: number;
  readonly raw: string;
  /** The answer, put together where it streamed. */
  readonly body: JsonObject;
  /** The texts of the answer, joined. */
  readonly text: string;
  /** The word by which it ended. */
  readonly end: unknown;
  readonly headers: Headers;
}

let keys = 0;

/** Sends a request with a budget of its own. */
export async function ask(
  { text: service }: Stack,
  caller: TextProtocolName,
  model: string,
  said: string,
  {
    stream = false,
    signal,
    ...more
  }: { stream?: boolean; signal?: AbortSignal; [member: string]: unknown } = {},
): Promise<Got & { readonly keyId: string }> {
  keys += 1;
  const keyId = `key_hooked_${keys}`;
  const budget = { microUsd: 1e9, period: 'total', allowUnpriced: false } as const;
  const reply = await service.fetch(PATHS[caller], {
    body: requestOf(caller, model, said, { ...(stream && { stream }), ...more }),
    headers: { 'x-request-id': `req_${keyId}` },
    identity: { keyId, accounts: [{ owner: keyId, budget, limits: {} }] },
    ...(signal && { signal }),
  });
  const raw = await reply.text();
  return { ...gotOf(caller, reply.status, raw, reply.headers), keyId };
}

export function gotOf(caller: TextProtocolName, status: number, raw: string, headers: Headers): Got {
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const body = isStream ? collected(caller, raw) : objectOf(parseObject(raw));
  const choices: unknown = body.choices;
  const [choice] = Array.isArray(choices) ? choices.filter(isObject) : [];
  const end =
    choice?.finish_reason ?? body.stop_reason ?? objectOf(body.incomplete_details).reason ?? body.status;
  return {
    status,
    raw,
    body,
    text: replySlots(body)
      .map(({ text }) => text)
      .join(''),
    end,
    headers,
  };
}

function collected(caller: TextProtocolName, raw: string): JsonObject {
  const collector = PROTOCOLS[caller].createEventCollector();
  const reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
  for (const { data } of reader.push(Buffer.from(raw))) {
    const event = data === null || data === END_MARK ? null : parseObject(data);
    if (event !== null && data !== null) collector.take(event, data);
  }
  return collector.body() ?? {};
}

/** What a key has spent when nothing of it is reserved any more, in micro dollars. */
export async function spentBy({ redis }: Stack, keyId: string): Promise<number> {
  const name = redisNames.account(keyId, 'total');
  await waitFor(async () => Number((await redis.hgetall(name)).reserved ?? 0) === 0 || undefined);
  return Number((await redis.hgetall(name)).spent ?? 0);
}
