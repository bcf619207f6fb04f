import { EventCaller } from '@gateway/model-service/event-caller';

/** The caller of a line of a batch: its answer is kept whole. */
export class LineCaller extends EventCaller {
  readonly #pieces: Buffer[] = [];

  /** It takes all that it is sent. */
  readonly isFull = false;

  /** What it was answered with. */
  get body(): string {
    return Buffer.concat(this.#pieces).toString();
  }

  protected takeOther(body: Buffer | string): void {
    this.#pieces.push(Buffer.from(body));
  }

  /** Nothing is streamed to it. */
  protected take(): void {}
}
