import type { EmittedText } from '@gateway/jobs/events/job-texts';

/** An event among those that a job has emitted: the text in which it ends, and which of that text's events it is. */
export interface EventPosition {
  readonly textId: string;
  readonly number: number;
}

const POSITION = /^(\d{1,20}-\d{1,20})\.(\d{1,9})/;
const START = '0-0.0';

/** The event that a `Last-Event-ID` names; undefined for the beginning. */
export function positionIn(lastEventId: string): EventPosition | undefined {
  const [, textId, number] = POSITION.exec(lastEventId) ?? [];
  if (textId === undefined || number === undefined) return undefined;
  return { textId, number: Number(number) };
}

export interface EmittedEvent {
  readonly id: string;
  /** Its lines, without the empty one that ends it. */
  readonly frame: string;
}

export interface EventReader {
  /** The id of the event that was read last. */
  readonly lastId: string;
  /** What has been emitted since. */
  read(): AsyncGenerator<EmittedEvent>;
}

const PAGE = 100;
const FRAME_END = /\r?\n\r?\n/;
/** Some streaming jobs emit first who answers, which is no event. */
const HEAD = /^\{[^\n]*\}$/;

/** Reads a job's texts as events, each once, from after a position on. A text may hold several events, and an event several texts. */
export function createEventReader(
  textsFrom: (textId: string) => Promise<EmittedText[]>,
  position: EventPosition | undefined,
): EventReader {
  let from = position?.textId ?? '-';
  let lastId = position === undefined ? START : `${position.textId}.${position.number}`;
  let rest = '';

  const eventsIn = function* ({ id, text }: EmittedText): Generator<EmittedEvent> {
    if (rest === '' && HEAD.test(text)) return;
    const frames = (rest + text).split(FRAME_END);
    rest = frames.pop() ?? '';
    for (const [at, frame] of frames.entries()) {
      const number = at + 1;
      if (id === position?.textId && number <= position.number) continue;
      lastId = `${id}.${number}`;
      yield { id: lastId, frame };
    }
  };
  return {
    get lastId() {
      return lastId;
    },
    read: async function* () {
      for (;;) {
        const texts = await textsFrom(from);
        for (const text of texts) {
          from = `(${text.id}`;
          yield* eventsIn(text);
        }
        if (texts.length < PAGE) return;
      }
    },
  };
}
