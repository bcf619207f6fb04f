import { setTimeout as delay } from 'node:timers/promises';
import type { Asset, AssetStore, ByteRange } from '@gateway/assets/asset-store';
import { GatewayError, SerializedError } from '@gateway/contracts/gateway-error';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import type { JobMetering } from '@gateway/jobs/job-metering';
import {
  firstLine,
  Head,
  type KnownEnd,
  type LineEnding,
  nothing,
  oneByOne,
  type Pending,
  type Settlement,
  tokensOf,
} from './journal-entries.ts';

interface StoredEnd extends KnownEnd {
  readonly place: { readonly id: string; readonly start: number; readonly sizeBytes: number };
}

/** Another process has the batch's lines now: what this one still does of them is not put down any more. */
export class JournalTaken extends Error {
  override readonly name = 'JournalTaken';
}

/** How long an entry waits for others that are written with it. */
const GATHER_MS = 15;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
const READ_TRIES = 3;
const DELETED_AT_ONCE = 500;
/** Up to here a group is read as a whole, and the last ones are held. */
const READ_WHOLE_BYTES = 128 * 1024;
const READ_AT_ONCE = 32;
/** What is more goes to the store in pieces. */
const GATHERED_BYTES = 1024 * 1024;

const runId = (batchId: string, run: number): string => `${batchId}-${run}`;
const groupId = (batchId: string, run: number, group: number): string => `${batchId}-${run}-${group}`;

interface JournalOptions {
  /** Shared by all processes that have to do with batches. */
  readonly store: AssetStore;
  readonly batchId: string;
  /** Aborted when nothing is to be waited for any more. */
  readonly signal: AbortSignal;
  /** Called for what is tried again. */
  readonly onError: (error: unknown) => void;
}

/**
 * What has become of the lines of a batch, in files that outlive the process that does them: which it has begun, before their provider is
 * called, and how they have ended, before they are accounted for. Entries are gathered, and written as a whole.
 *
 * One process at a time has a batch's journal. Who opens it takes it from the one before, which learns that before it acts on anything
 * that it has written: first the new one marks that it is there and then reads, and the old one first writes and then looks for the mark.
 */
export class LineJournal {
  readonly #options: JournalOptions;
  readonly #run: number;
  /** Of groups. */
  readonly #ids: string[] = [];
  readonly #begun = new Map<number, JobMetering>();
  readonly #tried = new Map<number, Omit<Head['notBegun'][number], 'index'>>();
  readonly #ended = new Map<number, StoredEnd>();
  readonly #unsettled = new Map<number, Settlement>();
  /** Of groups, in bytes. */
  readonly #sizes = new Map<string, number>();
  /** What was read last of what is small. */
  readonly #read = new Map<string, Promise<Buffer>>();
  #reach = 0;
  #completed = 0;
  #groups = 0;
  #pending = nothing();
  /** Of the next group. */
  #written = openPromise();
  #writing: Promise<void> | null = null;
  #isWanted = false;
  #failure: unknown = null;

  private constructor(options: JournalOptions, run: number) {
    this.#options = options;
    this.#run = run;
  }

  /** @throws {GatewayError} `service_unavailable`, `storage_full` */
  static async open(options: JournalOptions): Promise<LineJournal> {
    const { store, batchId } = options;
    let run = 1;
    while (
      (await store.head(runId(batchId, run))) !== undefined ||
      !(await store.putNew(runId(batchId, run), Buffer.from('run')))
    )
      run += 1;
    const journal = new LineJournal(options, run);
    for (let earlier = 1; earlier < run; earlier += 1) await journal.#readRun(earlier);
    return journal;
  }

  /** Whether nothing has become of any line. */
  get isEmpty(): boolean {
    return this.#reach === 0 && this.#ended.size === 0;
  }

  /** Lines from here on have not been taken by any process. */
  get reach(): number {
    return this.#reach;
  }

  /** Those that have begun and not ended, with what was reserved for each. */
  get begunLines(): ReadonlyMap<number, JobMetering> {
    return this.#begun;
  }

  /** What a line has used that has been begun before, and is not now. */
  usedBefore(index: number): ConsumedUsage | undefined {
    return this.#tried.get(index)?.used ?? undefined;
  }

  /** What was reserved for such a line; undefined for one that has used nothing. */
  tried(index: number): { readonly metering: JobMetering; readonly used: ConsumedUsage } | undefined {
    const { metering, used = null } = this.#tried.get(index) ?? {};
    return metering && used ? { metering, used } : undefined;
  }

  /** What is to be put down of lines that have ended, and may have been. */
  get unsettled(): ReadonlyMap<number, Settlement> {
    return this.#unsettled;
  }

  get counts(): { readonly completed: number; readonly failed: number } {
    return { completed: this.#completed, failed: this.#ended.size - this.#completed };
  }

  end(index: number): KnownEnd | undefined {
    return this.#ended.get(index);
  }

  /** Resolves when it is kept that lines below this one may have been taken. @throws {JournalTaken} */
  async extend(reach: number): Promise<void> {
    this.#reach = Math.max(this.#reach, reach);
    await this.#writes();
  }

  /** Resolves when it is kept that the line is begun, and nobody else has the batch: then its provider may be called. @throws {JournalTaken} */
  async begin(index: number, metering: JobMetering): Promise<void> {
    this.#pending.begun.push({ index, metering });
    await this.#writes();
  }

  /** Its provider has certainly not begun it, so that it may be begun again. */
  notBegun(index: number, metering: JobMetering, used: ConsumedUsage | undefined): void {
    this.#pending.notBegun.push({ index, metering, used: used ?? null });
    this.#writes().catch(() => undefined);
  }

  /** Resolves when it is kept how a line has ended. @throws {JournalTaken} */
  async finish(index: number, ending: LineEnding, settlement: Settlement | null): Promise<void> {
    const isGood = ending.type === 'succeeded';
    const text = isGood ? ending.answer.body : JSON.stringify(ending.error.serialize());
    const bytes = Buffer.from(text);
    const line = {
      index,
      type: ending.type,
      status: isGood ? ending.answer.status : 0,
      errorCode: isGood ? null : ending.error.code,
      errorMessage: isGood ? null : ending.error.message.slice(0, 200),
      settlement,
      sizeBytes: bytes.length,
    };
    this.#pending.ended.push({ line, bytes });
    await this.#writes();
  }

  /** It is put down in the usage records. */
  settled(index: number): void {
    this.#unsettled.delete(index);
    // Written with the next entry: doing it again would change nothing.
    this.#pending.settled.push(index);
  }

  /** What a line came to that has ended. @param hold resolves when so many bytes may be read @throws {GatewayError} `service_unavailable` */
  async read(index: number, hold: (sizeBytes: number) => Promise<void>): Promise<LineEnding> {
    const end = this.#ended.get(index);
    if (end === undefined) throw new Error(`line ${index} has not ended`);
    const { type, status, place } = end;
    const { id, start, sizeBytes } = place;
    await hold(sizeBytes);
    const text = (await this.#bytesOf(id, start, sizeBytes).catch(notNow)).toString();
    if (type === 'succeeded') return { type, answer: { status, body: text } };
    return { type, error: GatewayError.deserialize(SerializedError.parse(JSON.parse(text))) };
  }

  /** Resolves when all is written. Never rejects. */
  async close(): Promise<void> {
    if (this.#pending.settled.length > 0) this.#writes().catch(() => undefined);
    await this.#writing;
  }

  /** Nobody needs it any more. */
  async delete(): Promise<void> {
    const { store, batchId } = this.#options;
    for (let at = 0; at < this.#ids.length; at += DELETED_AT_ONCE)
      await store.delete(...this.#ids.slice(at, at + DELETED_AT_ONCE));
    // In this order: who finds that of its successor gone finds its own gone too.
    for (let run = 1; run <= this.#run; run += 1) await store.delete(runId(batchId, run));
  }

  async #bytesOf(id: string, start: number, sizeBytes: number): Promise<Buffer> {
    if (sizeBytes === 0) return Buffer.alloc(0);
    const end = start + sizeBytes;
    if ((this.#sizes.get(id) ?? end) > READ_WHOLE_BYTES)
      return (await this.#open(id, { start, end: end - 1 })).bytes();
    // Lines that are read one after the other have mostly been written together.
    const whole = this.#read.get(id) ?? this.#open(id).then((asset) => asset.bytes());
    this.#read.delete(id);
    this.#read.set(id, whole);
    whole.catch(() => this.#read.delete(id));
    for (const oldest of this.#read.keys()) {
      if (this.#read.size <= READ_AT_ONCE) break;
      this.#read.delete(oldest);
    }
    return (await whole).subarray(start, end);
  }

  async #open(id: string, range?: ByteRange): Promise<Asset> {
    const asset = await this.#options.store.open(id, range);
    if (asset === undefined)
      throw new GatewayError('internal', {
        message: 'The request was run, but its result cannot be found. Report the request id.',
        retry: false,
        cause: new Error(`no ${id}: do the service and its workers have the same ASSETS_URL?`),
      });
    return asset;
  }

  async #readRun(run: number): Promise<void> {
    const { batchId } = this.#options;
    for (let group = 1; ; group += 1) {
      const id = groupId(batchId, run, group);
      const line = await this.#headOf(id);
      if (line === undefined) return;
      this.#ids.push(id);
      this.#apply(id, Head.parse(JSON.parse(line.toString())), line.length + 1);
    }
  }

  /** Undefined where there is no such group. There are thousands of a long batch, and one may break off while it is read. */
  async #headOf(id: string): Promise<Buffer | undefined> {
    const { store, signal } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const asset = await store.open(id);
        return asset && (await firstLine(asset.stream()));
      } catch (error) {
        if (attempt === READ_TRIES) return notNow(error);
        await delay(FIRST_RETRY_MS, undefined, { signal });
      }
    }
  }

  /** Resolves when what is pending now is written. */
  #writes(): Promise<void> {
    this.#isWanted = true;
    if (this.#failure === null) this.#writing ??= this.#writeAll();
    return this.#written.promise;
  }

  async #writeAll(): Promise<void> {
    while (this.#isWanted) {
      await delay(GATHER_MS);
      this.#isWanted = false;
      const [pending, written] = [this.#pending, this.#written];
      this.#pending = nothing();
      this.#written = openPromise();
      try {
        await this.#write(pending);
        written.resolve();
      } catch (error) {
        this.#failure = error;
        written.reject(error);
        this.#written.reject(error);
        break;
      }
    }
    // In the same turn in which nothing more was wanted.
    this.#writing = null;
  }

  async #write({ ended, ...pending }: Pending): Promise<void> {
    const { store, batchId, signal, onError } = this.#options;
    this.#groups += 1;
    const id = groupId(batchId, this.#run, this.#groups);
    const head: Head = { reach: this.#reach, ...pending, ended: ended.map(({ line }) => line) };
    const headBytes = Buffer.from(`${JSON.stringify(head)}\n`);
    const parts = [headBytes, ...ended.map(({ bytes }) => bytes)];
    const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0);
    const whole = sizeBytes < GATHERED_BYTES ? Buffer.concat(parts) : null;
    this.#ids.push(id);
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(MAX_RETRY_MS, 2 * retryMs)) {
      try {
        await store.put(id, whole ?? oneByOne(parts));
        if (await this.#isTaken()) throw new JournalTaken(`another process has the lines of ${batchId}`);
        break;
      } catch (error) {
        // What has been paid for is not given up because a disk is full, or a bucket is away or takes nothing for a moment.
        if (error instanceof JournalTaken) throw error;
        onError(error);
        await delay(retryMs, undefined, { signal });
      }
    }
    this.#apply(id, head, headBytes.length);
  }

  /** Who has taken it may have ended the batch since, and deleted the marks of all, one after the other. */
  async #isTaken(): Promise<boolean> {
    const { store, batchId } = this.#options;
    if ((await store.head(runId(batchId, this.#run + 1))) !== undefined) return true;
    return (await store.head(runId(batchId, this.#run))) === undefined;
  }

  #apply(id: string, { reach, notBegun, begun, ended, settled }: Head, firstByte: number): void {
    this.#reach = Math.max(this.#reach, reach);
    for (const { index, ...one } of notBegun) {
      this.#begun.delete(index);
      this.#tried.set(index, one);
    }
    for (const { index, metering } of begun) this.#begun.set(index, metering);
    let start = firstByte;
    for (const { index, settlement, sizeBytes, ...known } of ended) {
      this.#begun.delete(index);
      this.#tried.delete(index);
      if (known.type === 'succeeded' && !this.#ended.has(index)) this.#completed += 1;
      const place = { id, start, sizeBytes };
      this.#ended.set(index, { ...known, place, tokens: settlement && tokensOf(settlement.result) });
      if (settlement !== null) this.#unsettled.set(index, settlement);
      start += sizeBytes;
    }
    this.#sizes.set(id, start);
    for (const index of settled) this.#unsettled.delete(index);
  }
}

/** It is there, and has been paid for: it is read when that is possible again. */
function notNow(cause: unknown): never {
  if (cause instanceof GatewayError) throw cause;
  throw new GatewayError('service_unavailable', {
    message: 'What the batch has come to cannot be read at the moment.',
    cause,
  });
}

const openPromise = () => {
  const opened = Promise.withResolvers<void>();
  // Who waits for it gets its failure; nobody may.
  opened.promise.catch(() => undefined);
  return opened;
};
