import { z } from 'zod';
import type { Exchange } from '../wire/exchange.ts';
import { ANSWERS, parseJson, type Reading, readWhole, type TextProtocol } from '../wire/replies.ts';
import { readStream } from '../wire/streams.ts';
import type { RequestKind } from './request-kinds.ts';
import { compared, left, type Trip, type TripRequest, unexpected } from './trip.ts';

/** Models by what their channels speak; `mixed` has another protocol at each provider. */
type TextModel = 'over-responses' | 'over-messages' | 'over-chat' | 'mixed';

const said = (content: string) => [{ role: 'user', content }];

const BODIES = {
  responses: (input: string) => ({ path: '/v1/responses', json: { input, store: false } }),
  messages: (input: string) => ({
    path: '/v1/messages',
    json: { max_tokens: 4000, messages: said(input) },
    headers: { 'anthropic-version': '2023-06-01' },
  }),
  chat: (input: string) => ({
    path: '/v1/chat/completions',
    json: { messages: said(input) },
  }),
} as const satisfies Record<TextProtocol, (input: string) => TripRequest & { path: string }>;

const read = (reply: Exchange, protocol: TextProtocol, stream: boolean): Reading => {
  if (reply.end === 'left') return left;
  return stream ? readStream(reply, protocol) : readWhole(reply, ANSWERS[protocol]);
};

function generates(protocol: TextProtocol, model: TextModel, stream: boolean): RequestKind {
  return {
    work: 'free',
    service: 'text',
    worker: null,
    run: async (trip) => {
      const { path, json, ...request } = BODIES[protocol](trip.mark(1));
      const body = { model, ...json, ...(stream && { stream }) };
      return compared(
        read(await trip.ask(path, { ...request, json: body }), protocol, stream),
        trip.answer(1),
      );
    },
  };
}

const Stored = z.looseObject({ id: z.string(), status: z.string() });
const MAX_TURNS = 3;

/** Turns that continue one another, streamed in turn; each is found again. */
function continues(model: TextModel): RequestKind {
  return {
    work: 'free',
    service: 'text',
    worker: null,
    run: async (trip) => {
      let previous: string | null = null;
      for (let turn = 1; turn <= MAX_TURNS; turn += 1) {
        const stream = turn === 2;
        const json = { model, input: trip.mark(turn), previous_response_id: previous, stream };
        const reply = await trip.ask('/v1/responses', { json });
        const reading = compared(read(reply, 'responses', stream), trip.answer(turn));
        if (reading.failure !== null || reading.problems.length > 0 || reply.end === 'left') return reading;
        if (isUnkept(reply)) return left;
        previous = idOf(reply);
      }
      return left;
    },
  };
}

const Items = z.object({ data: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) });

/** Turns in one conversation: it has each turn that was answered once, and no other more than once. */
function converses(model: TextModel): RequestKind {
  return {
    work: 'free',
    service: 'text',
    worker: null,
    run: async (trip) => {
      const made = await trip.ask('/v1/conversations', { json: {} });
      const conversation = /"id":\s*"(conv_[^"]+)"/.exec(made.body.toString())?.[1];
      if (made.status !== 200 || conversation === undefined) return unexpected(made);
      const answered: number[] = [];
      let failed: Reading | null = null;
      for (let turn = 1; turn <= MAX_TURNS && failed === null; turn += 1) {
        const stream = turn === 2;
        const json = { model, input: trip.mark(turn), conversation, stream };
        const reply = await trip.ask('/v1/responses', { json });
        const reading = compared(read(reply, 'responses', stream), trip.answer(turn));
        if (reading.failure !== null || reading.problems.length > 0) failed = reading;
        else if (!/"conversation":\s*null/.test(reply.body.toString())) answered.push(turn);
      }
      const listed = await trip.poll(
        `/v1/conversations/${conversation}/items?order=asc&limit=100`,
        () => true,
      );
      const items = Items.safeParse(parseJson(listed.body));
      if (listed.status !== 200 || !items.success) return failed ?? unexpected(listed);
      const told = items.data.data.map(({ role, content }) => `${role} ${JSON.stringify(content)}`);
      const timesOf = (turn: number, role: string) =>
        told.filter((item) => item.startsWith(role) && item.includes(trip.mark(turn))).length;
      const turns = Array.from({ length: MAX_TURNS }, (_, index) => index + 1);
      const problems = turns.flatMap((turn) =>
        ['user', 'assistant'].flatMap((role) => {
          const times = timesOf(turn, role);
          return times > 1 ? [`turn ${turn} of ${role} is there ${times} times`] : [];
        }),
      );
      const { failure = null, problems: before = [] } = failed ?? {};
      const isMissing = answered.some((turn) => timesOf(turn, 'user') * timesOf(turn, 'assistant') === 0);
      const lost = isMissing ? ({ where: 'reply', status: 404, code: 'conflict' } as const) : null;
      return { text: null, failure: lost ?? failure, problems: [...before, ...problems] };
    },
  };
}

/** The id of a response, streamed or whole. */
const idOf = (reply: Exchange): string => /"id":\s*"(resp_[^"]+)"/.exec(reply.body.toString())?.[1] ?? '';

/** It says that it is not stored, so that nobody finds it again. */
const isUnkept = (reply: Exchange): boolean => /"store":\s*false/.test(reply.body.toString());

const isEnded = (reply: Exchange): boolean => {
  const stored = Stored.safeParse(parseJson(reply.body));
  return !stored.success || !['queued', 'in_progress'].includes(stored.data.status);
};

const begin = (trip: Trip, model: TextModel) =>
  trip.ask('/v1/responses', { json: { model, input: trip.mark(1), background: true } });

/** A response without a caller who waits, polled to its end. */
function inBackground(model: TextModel): RequestKind {
  return {
    work: 'free',
    service: 'text',
    worker: 'text-worker',
    run: async (trip) => {
      const begun = await begin(trip, model);
      if (begun.end === 'left' || begun.status !== 200 || begun.end !== 'complete') return unexpected(begun);
      if (isUnkept(begun)) return left;
      const ended = await trip.poll(`/v1/responses/${idOf(begun)}`, isEnded);
      if (ended.status !== 200) return unexpected(ended);
      const stored = Stored.extend({ error: z.looseObject({ code: z.string() }).nullable() }).safeParse(
        parseJson(ended.body),
      );
      if (stored.success && stored.data.status === 'failed')
        return {
          text: null,
          failure: { where: 'reply', status: 200, code: stored.data.error?.code ?? 'none' },
          problems: [],
        };
      return compared(readWhole(ended, ANSWERS.responses), trip.answer(1));
    },
  };
}

const CANCELLED = ['cancelled', 'completed', 'failed'];

/** It is cancelled, and ends so unless it had ended before. */
const cancelsBackground: RequestKind = {
  work: 'free',
  service: 'text',
  worker: 'text-worker',
  run: async (trip) => {
    const begun = await begin(trip, 'over-chat');
    if (begun.end === 'left' || begun.status !== 200 || begun.end !== 'complete') return unexpected(begun);
    const path = `/v1/responses/${idOf(begun)}`;
    const cancelled = await trip.ask(`${path}/cancel`, { method: 'POST' });
    if (cancelled.status !== 200 && cancelled.status !== 400) return unexpected(cancelled);
    const ended = await trip.poll(path, isEnded);
    if (ended.status !== 200) return unexpected(ended);
    const { status } = Stored.parse(parseJson(ended.body));
    return CANCELLED.includes(status)
      ? left
      : { ...left, problems: [`ends as ${status} after it was cancelled`] };
  },
};

const listsModels: RequestKind = {
  work: 'free',
  service: 'text',
  worker: null,
  run: async (trip) => {
    const reply = await trip.ask('/v1/models');
    if (reply.end === 'left') return left;
    const names = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });
    return compared(
      readWhole(
        reply,
        names.transform(({ data }) => String(data.some(({ id }) => id === 'over-chat'))),
      ),
      'true',
    );
  },
};

export const TEXT_KINDS = {
  'responses of responses': generates('responses', 'over-responses', false),
  'responses of responses, streamed': generates('responses', 'over-responses', true),
  'responses of messages, streamed': generates('responses', 'over-messages', true),
  'responses of chat': generates('responses', 'over-chat', false),
  'responses of any, streamed': generates('responses', 'mixed', true),
  'messages of messages': generates('messages', 'over-messages', false),
  'messages of messages, streamed': generates('messages', 'over-messages', true),
  'messages of responses, streamed': generates('messages', 'over-responses', true),
  'messages of chat': generates('messages', 'over-chat', false),
  'messages of any, streamed': generates('messages', 'mixed', true),
  'chat of chat': generates('chat', 'over-chat', false),
  'chat of chat, streamed': generates('chat', 'over-chat', true),
  'chat of responses, streamed': generates('chat', 'over-responses', true),
  'chat of messages': generates('chat', 'over-messages', false),
  'a chain of responses': continues('over-responses'),
  'a chain over messages': continues('over-messages'),
  'a chain over any': continues('mixed'),
  'a conversation over chat': converses('over-chat'),
  'a conversation over any': converses('mixed'),
  'background of responses': inBackground('over-responses'),
  'background of messages': inBackground('over-messages'),
  'cancelled background': cancelsBackground,
  'list of models': listsModels,
} as const satisfies Record<string, RequestKind>;
