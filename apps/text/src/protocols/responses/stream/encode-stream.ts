import { COMMENT_FRAME, DONE_FRAME, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { Reply } from '../../../neutral/reply/reply.ts';
import { replyEvents } from '../../../neutral/reply/reply-events.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { ResponseWriter } from './response-writer.ts';

/** Neutral events as frames of a Responses stream. */
export class ResponsesStreamEncoder implements StreamStep<StreamEvent, string> {
  readonly #writer: ResponseWriter;
  #frames: string[] = [];
  #sequence = 0;

  constructor(context: AnswerContext) {
    this.#writer = new ResponseWriter(context, (type, members) => {
      this.#frames.push(namedFrame({ type, sequence_number: this.#sequence, ...members }));
      this.#sequence += 1;
    });
  }

  event(event: StreamEvent): string[] {
    if (event.type === 'ping') return [COMMENT_FRAME];
    this.#frames = [];
    this.#writer.write(event);
    if (event.type === 'finish' || event.type === 'error') this.#frames.push(DONE_FRAME);
    return this.#frames;
  }

  end(): string[] {
    return [];
  }
}

/** A finished answer as a response object: what its stream would have ended with. */
export function encodeResponsesReply(reply: Reply, context: AnswerContext): object {
  const writer = new ResponseWriter(context, () => {});
  for (const event of replyEvents(reply)) writer.write(event);
  return writer.response;
}
