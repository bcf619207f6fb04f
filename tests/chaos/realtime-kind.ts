import type { SocketEvent } from '@gateway/testkit/connect-socket';
import { z } from 'zod';
import type { Failure, Reading } from '../wire/replies.ts';
import type { RequestKind } from './request-kinds.ts';
import { openSocket, type SocketAnswer, type SocketTrip } from './socket-trip.ts';
import { left, type Trip } from './trip.ts';

const PATH = '/v1/realtime?model=gpt-realtime';
const TURNS = 3;
const CONNECTIONS_AT_MOST = 5;

/** What an error that a caller may try again after would be over HTTP. */
const STATUS: Readonly<Record<string, number>> = {
  service_unavailable: 503,
  shutting_down: 503,
  server_is_overloaded: 503,
  rate_limit_exceeded: 429,
  upstream_error: 502,
};
const BAD_REQUEST = 400;
const SHUTTING_DOWN = 'shutting_down';
const NORMAL = 1000;

const ErrorEvent = z.looseObject({
  type: z.literal('error'),
  error: z.looseObject({
    type: z.string().min(1),
    code: z.string().min(1),
    message: z.string().min(1),
    event_id: z.string().nullable(),
  }),
});
const Begun = z.looseObject({ response: z.looseObject({ id: z.string() }) });
const Done = z.looseObject({
  response: z.looseObject({
    status: z.string(),
    output: z.array(z.looseObject({ content: z.array(z.looseObject({ transcript: z.string() })) })),
  }),
});

/** How a turn, or the begin of a session, went. `again`: nothing of it has begun, and the caller is asked to come back. */
type Outcome =
  | {
      readonly is: 'done';
      readonly failure: Failure | null;
      readonly problems: readonly string[];
      /** The session takes no further turn. */
      readonly isLast: boolean;
    }
  | { readonly is: 'again' }
  | { readonly is: 'over'; readonly reading: Reading };

const over = (failure: Failure | null, problems: readonly string[] = []): Outcome => ({
  is: 'over',
  reading: { text: null, failure, problems },
});

const errorIn = (event: SocketEvent | undefined) => ErrorEvent.safeParse(event).data?.error;

/** Several turns of a conversation, in as many sessions as the gateway asks for. */
export const REALTIME_SESSION: RequestKind = {
  work: 'paid',
  service: 'audio',
  worker: null,
  run: async (trip) => {
    let failure: Failure | null = null;
    let turn = 1;
    for (let connection = 0; connection < CONNECTIONS_AT_MOST && turn <= TURNS; connection += 1) {
      const opened = await openSocket(trip, PATH, `${trip.planned.name}-${connection}`);
      if ('failure' in opened) return opened;
      try {
        let outcome = await begin(opened);
        for (; outcome.is === 'done' && turn <= TURNS; turn += 1) {
          outcome = await take(opened, trip, turn);
          if (outcome.is !== 'done') break;
          failure ??= outcome.failure;
          if (outcome.problems.length > 0) return { text: null, failure, problems: outcome.problems };
          if (outcome.isLast) outcome = { is: 'again' };
        }
        if (outcome.is === 'over') return outcome.reading;
      } finally {
        opened.close();
      }
    }
    return turn > TURNS
      ? { text: null, failure, problems: [] }
      : { text: null, failure: { where: 'reply', status: 503, code: SHUTTING_DOWN }, problems: [] };
  },
};

async function begin(opened: SocketTrip): Promise<Outcome> {
  const answer = await opened.converse([], ({ type }) => type === 'session.created' || type === 'error');
  if (answer.end !== 'complete') return ended(answer, { hasBegun: false });
  const error = errorIn(answer.events.at(-1));
  if (error === undefined) return { is: 'done', failure: null, problems: [], isLast: false };
  if (error.code === SHUTTING_DOWN) return { is: 'again' };
  return over({ where: 'reply', status: STATUS[error.code] ?? BAD_REQUEST, code: error.code });
}

/** One turn: its words, and the response to them. */
async function take(opened: SocketTrip, trip: Trip, turn: number): Promise<Outcome> {
  const id = `event-${trip.mark(turn)}`;
  const content = [{ type: 'input_text', text: trip.mark(turn) }];
  let begun: string | undefined;
  const answer = await opened.converse(
    [
      { type: 'conversation.item.create', item: { type: 'message', role: 'user', content } },
      { type: 'response.create', event_id: id },
    ],
    (event) => {
      const of = Begun.safeParse(event).data?.response.id;
      if (event.type === 'response.created') begun = of;
      // The end of an earlier response may come again. Other errors are notices, or the end of the session follows.
      return (event.type === 'response.done' && of === begun) || errorIn(event)?.event_id === id;
    },
  );
  const last = answer.events.at(-1);
  if (answer.end !== 'complete') return ended(answer, { hasBegun: begun !== undefined });
  const refusal = errorIn(last);
  if (refusal?.code === SHUTTING_DOWN) return { is: 'again' };
  if (refusal !== undefined)
    return over({ where: 'reply', status: STATUS[refusal.code] ?? BAD_REQUEST, code: refusal.code });
  const done = Done.safeParse(last);
  if (!done.success) return over(null, [`an end that is none: ${JSON.stringify(last).slice(0, 300)}`]);
  const { status, output } = done.data.response;
  const isLast = answer.events.some((event) => errorIn(event)?.code === SHUTTING_DOWN);
  if (status === 'failed')
    return { is: 'done', failure: { where: 'stream', status: 0, code: status }, problems: [], isLast };
  const said = output.flatMap(({ content: parts }) => parts.map(({ transcript }) => transcript)).join('');
  const heard = answer.events
    .flatMap(({ type, delta }) => (type === 'response.output_audio_transcript.delta' ? [String(delta)] : []))
    .join('');
  const expected = trip.answer(turn);
  const problems = [said, heard].flatMap((text) =>
    text === expected ? [] : [`wrong words: ${text.slice(0, 100)} instead of ${expected.slice(0, 100)}`],
  );
  return { is: 'done', failure: null, problems, isLast };
}

/** A session that ended before its answer: it says why, and what to do. */
function ended(
  { events, end, closeCode, closeReason }: SocketAnswer,
  { hasBegun }: { hasBegun: boolean },
): Outcome {
  if (end === 'left') return { is: 'over', reading: left };
  if (end === 'silent') return over(null, ['no answer, and no end']);
  if (closeCode === null) return over({ where: 'connection', status: 0, code: end });
  const error = events.map(errorIn).findLast((one) => one !== undefined);
  if (error?.code === SHUTTING_DOWN && !hasBegun) return { is: 'again' };
  const problems = [
    ...(error === undefined ? [`closed with ${closeCode} without an error`] : []),
    ...(closeReason === '' || closeCode === NORMAL ? [`closed with ${closeCode} '${closeReason}'`] : []),
  ];
  return over({ where: 'stream', status: closeCode, code: error?.code ?? 'closed' }, problems);
}
