import { BLANK_LINE, dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { ReplyWriter } from '../reply/encode-reply.ts';
import { errorFrame } from '../reply/errors.ts';

/** Neutral events as a stream of `GenerateContentResponse`s, each with new parts. A call comes whole. */
export class GeminiStreamEncoder implements StreamStep<StreamEvent, string> {
  readonly #writer: ReplyWriter;

  constructor(context: AnswerContext) {
    this.#writer = new ReplyWriter(context);
  }

  *event(event: StreamEvent): Generator<string> {
    switch (event.type) {
      case 'ping':
        yield BLANK_LINE;
        break;
      case 'error':
        yield errorFrame(event.error);
        break;
      case 'finish': {
        const rest = this.#writer.rest();
        const parts = rest.length > 0 ? rest : [{ text: '' }];
        yield dataFrame(this.#writer.response(parts, this.#writer.end(event)));
        break;
      }
      default: {
        const parts = this.#writer.parts(event);
        if (parts.length > 0) yield dataFrame(this.#writer.response(parts));
      }
    }
  }

  end(): string[] {
    return [];
  }
}
