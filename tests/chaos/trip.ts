import { setTimeout as delay } from 'node:timers/promises';
import { type Exchange, exchange } from '../wire/exchange.ts';
import { type Reading, readError } from '../wire/replies.ts';
import { answerTo, type FaultName, faultOf, PROVIDER_NAMES } from './faults.ts';
import type { PlannedRequest } from './plan.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

export interface TripOptions {
  readonly seed: number;
  readonly planned: PlannedRequest;
  /** The key's secret. */
  readonly secret: string;
  /** Of the planned edge. */
  readonly origin: string;
  /** Where webhooks go, and the key's secret by which they are signed. */
  readonly webhooks: Pick<WebhookReceiver, 'url' | 'received'> & { readonly secret: string };
  /** A provider that never fails: what it answers to a request is what a caller of the gateway must get. */
  readonly referenceUrl: string;
}

export interface TripRequest {
  readonly method?: string;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One planned request on its way: all that is sent for it, and what came back. */
export interface Trip extends Pick<TripOptions, 'planned' | 'secret' | 'origin' | 'webhooks'> {
  readonly exchanges: readonly Exchange[];
  /** The mark of one turn, which its request must contain. */
  mark(turn: number): string;
  /** What text models answer to a turn. */
  answer(turn: number): string;
  /** Whether a provider ends its answer to a turn as if it were whole, or with other bytes: sound has no end that tells. */
  mayEndEarly(turn: number): boolean;
  /** The first request has the planned manner. */
  ask(path: string, request?: TripRequest): Promise<Exchange>;
  /** Asks until the reply satisfies the condition; goes on where the gateway or a connection is away for a while. */
  poll(path: string, isDone: (reply: Exchange) => boolean): Promise<Exchange>;
  /** What the reference provider answers to the same request. */
  reference(path: string, request: TripRequest): Promise<Buffer>;
}

const ENDS_EARLY = new Set<FaultName>([
  'ended too early',
  'error event',
  'garbage in the middle',
  'garbage',
  'empty',
]);

const POLL_EVERY_MS = 150;
const POLLS_FOR_MS = 120_000;
const AWAY_FOR_MS = 15_000;

async function encoded({
  json,
  form,
  text,
}: TripRequest): Promise<{ body: Buffer | null; type: string | null }> {
  if (json !== undefined) return { body: Buffer.from(JSON.stringify(json)), type: 'application/json' };
  if (text !== undefined) return { body: Buffer.from(text), type: 'application/jsonl' };
  if (form === undefined) return { body: null, type: null };
  const whole = new Response(form);
  return { body: Buffer.from(await whole.arrayBuffer()), type: whole.headers.get('content-type') };
}

/** What a caller is told when it should come back. */
const isAway = ({ end, status }: Exchange): boolean =>
  end === 'refused' || end === 'lost' || end === 'cut' || [429, 503, 504, 529].includes(status ?? 0);

export function createTrip({ seed, planned, secret, origin, webhooks, referenceUrl }: TripOptions): Trip {
  const exchanges: Exchange[] = [];
  const mark = (turn: number) => `${planned.name}t${turn}`;
  const { manner, mannerMs } = planned;

  let isFirst = true;
  const ask = async (path: string, request: TripRequest = {}): Promise<Exchange> => {
    const shown = isFirst ? manner : 'patient';
    isFirst = false;
    const { body, type } = await encoded(request);
    const reply = await exchange(origin, {
      method: request.method ?? (body === null ? 'GET' : 'POST'),
      path,
      headers: {
        authorization: `Bearer ${secret}`,
        'x-request-id': `${planned.name}-${exchanges.length}`,
        ...(body === null ? {} : { 'content-length': String(body.length) }),
        ...(type === null ? {} : { 'content-type': type }),
        ...request.headers,
      },
      body,
      ...(shown === 'leaves' ? { leaveAfterMs: mannerMs } : {}),
      ...(shown === 'stands' ? { standMs: mannerMs } : {}),
    });
    exchanges.push(reply);
    return reply;
  };
  return {
    planned,
    secret,
    origin,
    webhooks,
    exchanges,
    mark,
    answer: (turn) => answerTo(seed, mark(turn)),
    mayEndEarly: (turn) =>
      PROVIDER_NAMES.some((provider) => ENDS_EARLY.has(faultOf(seed, mark(turn), provider))),
    ask,
    poll: async (path, isDone) => {
      const giveUpAt = performance.now() + POLLS_FOR_MS;
      let awaySince: number | null = null;
      for (;;) {
        const reply = await ask(path);
        const now = performance.now();
        awaySince = isAway(reply) ? (awaySince ?? now) : null;
        // What a job failed with stays; what keeps its caller from it passes.
        const isLasting = awaySince !== null && now - awaySince > AWAY_FOR_MS;
        if (reply.end === 'left' || now > giveUpAt || isLasting) return reply;
        if (awaySince === null && (isDone(reply) || (reply.status !== 200 && reply.status !== 409)))
          return reply;
        await delay(POLL_EVERY_MS);
      }
    },
    reference: async (path, request) => {
      const { body, type } = await encoded(request);
      const reply = await fetch(referenceUrl + path, {
        method: 'POST',
        headers: { authorization: 'Bearer reference', ...(type === null ? {} : { 'content-type': type }) },
        body: body === null ? null : new Uint8Array(body),
      });
      if (!reply.ok) throw new Error(`the reference refuses ${path}: ${await reply.text()}`);
      return Buffer.from(await reply.arrayBuffer());
    },
  };
}

/** Holds what came against what had to come: the whole of it, or its beginning where it failed. */
export function compared(reading: Reading, expected: string): Reading {
  const { text, failure, problems } = reading;
  if (text === null) return reading;
  const isRight = failure === null ? text === expected : expected.startsWith(text);
  if (isRight) return reading;
  return { ...reading, problems: [...problems, `wrong content: ${show(text)} instead of ${show(expected)}`] };
}

const show = (text: string): string =>
  JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}… (${text.length})` : text);

export const left: Reading = { text: null, failure: null, problems: [] };

/** A reply that had to be this status and is not. */
export function unexpected(reply: Exchange): Reading {
  if (reply.end === 'left') return left;
  if (reply.end !== 'complete')
    return {
      text: null,
      failure: { where: 'connection', status: reply.status ?? 0, code: reply.end },
      problems: reply.end === 'silent' ? [`no answer to ${reply.method} ${reply.path}`] : [],
    };
  if ((reply.status ?? 0) >= 400) return readError(reply);
  return {
    text: null,
    failure: null,
    problems: [
      `status ${reply.status} for ${reply.method} ${reply.path}: ${reply.body.toString().slice(0, 200)}`,
    ],
  };
}
