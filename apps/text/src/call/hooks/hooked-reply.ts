import type { IncomingHttpHeaders } from 'node:http';
import { joinFrames } from '@gateway/contracts/event-stream/event-frame';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { OutputHold, RequestHooks } from '@gateway/hooks/request-hooks';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Reply, ReplySink } from '@gateway/upstream/replies/reply';
import { iterateReply, wholeReply } from '@gateway/upstream/replies/upstream-reply';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import { MAX_REPLY_BYTES } from '../attempts/whole-body.ts';
import { blockedReply } from './blocked-replies.ts';
import { bodyTexts } from './body-texts.ts';
import { HeldStream, type Released } from './held-stream.ts';
import { Outlet } from './outlet.ts';
import { eventTexts } from './stream-pieces.ts';

/** A reply whose texts are checked before anybody reads them, in the protocol of its upstream. */
export class HookedReply implements Reply {
  readonly #reply: Reply;
  readonly #hooks: RequestHooks;
  readonly #context: Pick<RequestContext, 'signal'>;
  /** What its reader has not taken yet; null: it is passed on as it comes. */
  #outlet: Outlet | null = null;

  constructor(reply: Reply, hooks: RequestHooks, context: Pick<RequestContext, 'signal'>) {
    this.#reply = reply;
    this.#hooks = hooks;
    this.#context = context;
  }

  get candidate(): Reply['candidate'] {
    return this.#reply.candidate;
  }

  get status(): number {
    return this.#reply.status;
  }

  get headers(): IncomingHttpHeaders {
    return this.#reply.headers;
  }

  get attempts(): Reply['attempts'] {
    return this.#reply.attempts;
  }

  get dropped(): Reply['dropped'] {
    return this.#reply.dropped;
  }

  get timings(): Reply['timings'] {
    return this.#reply.timings;
  }

  get ended(): boolean {
    return false;
  }

  get draining(): boolean {
    return this.#reply.draining;
  }

  get body(): AsyncIterable<Buffer> {
    return iterateReply(this);
  }

  bytes(maxBytes: number): Promise<Buffer> {
    return wholeReply(this, maxBytes);
  }

  resume(): void {
    if (this.#outlet === null) this.#reply.resume();
    else this.#outlet.resume();
  }

  letGo(): void {
    this.#reply.letGo();
  }

  cancel(): void {
    this.#reply.cancel();
  }

  unreadable(detail: string): void {
    this.#reply.unreadable(detail);
  }

  consume(sink: ReplySink): void {
    if (!isEventStream(this.headers)) void this.#consumeWhole(sink);
    else if (this.#hooks.outputHold === null) this.#watchStream(sink);
    else this.#consumeStream(sink, this.#hooks.outputHold);
  }

  async #consumeWhole(sink: ReplySink): Promise<void> {
    const outlet = this.#open(sink);
    try {
      outlet.chunk(await this.#checkedBytes(await this.#reply.bytes(MAX_REPLY_BYTES)));
      outlet.end(() => sink.onEnd());
    } catch (error) {
      outlet.end(() => sink.onError(this.#errorOf(error)));
    }
  }

  async #checkedBytes(bytes: Buffer): Promise<Buffer> {
    const { found, written } = await bodyTexts(bytes, 'reply', { signal: this.#context.signal });
    if (found.length === 0) return bytes;
    const texts = found.map(({ text }) => text);
    if (this.#hooks.reports) void this.#hooks.report(texts);
    if (this.#hooks.outputHold === null) return bytes;
    const checked = await this.#hooks.output(texts);
    if (checked.isBlocked)
      return Buffer.from(
        JSON.stringify(blockedReply(this.candidate.protocol, parsedOf(bytes.toString()) ?? {})),
      );
    return checked.texts === null ? bytes : written(checked.texts);
  }

  /** A stream that passes as it comes, for a report after its end. */
  #watchStream(sink: ReplySink): void {
    const reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
    const texts = new Map<string, string>();
    let events = 0;
    const take = (frames: readonly Frame[]) => {
      for (const { data } of frames) {
        const event = data === null || data === END_MARK ? null : parsedOf(data);
        if (event === null) continue;
        events += 1;
        const { pieces, repeats } = eventTexts(this.candidate.protocol, event, events);
        for (const { key, text } of pieces) texts.set(key, (texts.get(key) ?? '') + text);
        for (const { key, text } of repeats) if (!texts.has(key)) texts.set(key, text);
      }
    };
    const report = () => {
      if (texts.size > 0) void this.#hooks.report([...texts.values()]);
    };
    this.#reply.consume({
      onChunk: (chunk) => {
        take(reader.push(chunk));
        return sink.onChunk(chunk);
      },
      onEnd: () => {
        report();
        sink.onEnd();
      },
      onError: (error) => {
        report();
        sink.onError(error);
      },
    });
  }

  /** A stream whose events wait for what is said of their texts. Its upstream waits meanwhile. */
  #consumeStream(sink: ReplySink, hold: OutputHold): void {
    const reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
    const reported: string[] = [];
    const held = new HeldStream({
      protocol: this.candidate.protocol,
      hold,
      check: (texts) => {
        if (this.#hooks.reports) reported.push(...texts);
        return this.#hooks.output(texts);
      },
    });
    const outlet = this.#open(sink);
    /** Chunks come one after the other, also from an upstream that cannot be paused. */
    let work = Promise.resolve();

    const deliver = ({ frames, isBlocked }: Released): void => {
      if (frames.length > 0) outlet.chunk(bytesOf(joinFrames(frames)));
      if (!isBlocked) return;
      this.#reply.cancel();
      outlet.end(() => sink.onEnd());
    };
    const then = (step: () => Promise<void>) => {
      outlet.begin();
      work = work
        .then(() => (outlet.isOver ? undefined : step()))
        .catch((error: unknown) => {
          if (outlet.isOver) return;
          this.#reply.cancel();
          outlet.end(() => sink.onError(this.#errorOf(error)));
        })
        .finally(() => outlet.done());
    };
    const endWith = (end: () => void) =>
      then(async () => {
        const last = reader.end();
        if (last !== null) deliver(await held.push([last]));
        if (!outlet.isOver) deliver(await held.end());
        if (outlet.isOver) return;
        if (reported.length > 0) void this.#hooks.report(reported);
        outlet.end(end);
      });

    this.#reply.consume({
      onChunk: (chunk) => {
        if (outlet.isOver) return true;
        const frames = reader.push(chunk);
        if (frames.length > 0) then(async () => deliver(await held.push(frames)));
        return outlet.isFree;
      },
      onEnd: () => endWith(() => sink.onEnd()),
      onError: (error) => endWith(() => sink.onError(error)),
    });
  }

  #open(sink: ReplySink): Outlet {
    this.#outlet = new Outlet(sink, () => this.#reply.resume());
    return this.#outlet;
  }

  #errorOf(error: unknown): GatewayError {
    return endedRequest(this.#context) ?? toGatewayError(error);
  }
}

const bytesOf = (joined: Buffer | string): Buffer =>
  typeof joined === 'string' ? Buffer.from(joined) : joined;

function parsedOf(text: string): { [member: string]: unknown } | null {
  try {
    const parsed = parseBody(text);
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    // Whoever reads the reply says that it is none.
    return null;
  }
}
