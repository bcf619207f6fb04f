import { GatewayError } from '@gateway/contracts/gateway-error';

const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const MAX_NAME_BYTES = 256;

interface Options {
  /** The member that holds the list. */
  readonly name: string;
  readonly maxEntryBytes: number;
}

/**
 * The entries of a list in a JSON object that comes piece by piece: each as its bytes, which are not checked. The object's other members are
 * passed over.
 *
 * @throws {GatewayError} `invalid_json` for what is no such object, `request_too_large` for a long entry
 */
export async function* listEntries(
  chunks: AsyncIterable<Buffer>,
  { name, maxEntryBytes }: Options,
): AsyncGenerator<Buffer> {
  const reader = new EntryReader(name, maxEntryBytes);
  for await (const chunk of chunks) yield* reader.take(chunk);
  reader.end();
}

class EntryReader {
  readonly #name: string;
  readonly #maxEntryBytes: number;
  /** Objects and lists that are open. */
  #depth = 0;
  #inText = false;
  #escaped = false;
  /** Of the object itself: what its text now is. */
  #expects: 'begin' | 'name' | 'colon' | 'value' | 'comma' | 'end' = 'begin';
  /** The name that is being read, or the last one. */
  #memberName: number[] = [];
  #inList = false;
  #hasList = false;
  /** Of the list: whether an entry, or what follows one, is next. */
  #expectsEntry = true;
  #entry: Buffer[] | null = null;
  #entryBytes = 0;

  constructor(name: string, maxEntryBytes: number) {
    this.#name = name;
    this.#maxEntryBytes = maxEntryBytes;
  }

  *take(chunk: Buffer): Generator<Buffer> {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const code = chunk[at];
      if (code === undefined) break;
      if (this.#inText) {
        if (this.#isName) this.#addToName(code);
        else if (!this.#escaped && code !== QUOTE && code !== BACKSLASH) {
          // Texts are most of a body.
          const next = nextMark(chunk, at);
          at = next - 1;
          continue;
        }
        if (this.#escaped) this.#escaped = false;
        else if (code === BACKSLASH) this.#escaped = true;
        else if (code === QUOTE) this.#endText();
        continue;
      }
      if (isSpace(code)) continue;
      if (this.#inList && this.#depth === 2 && this.#entry === null) {
        if (code === CLOSE_LIST) {
          this.#closeList();
          continue;
        }
        if (code === COMMA) {
          if (this.#expectsEntry) throw broken();
          this.#expectsEntry = true;
          continue;
        }
        if (!this.#expectsEntry || code !== OPEN_OBJECT) throw noObject(this.#name);
        this.#entry = [];
        this.#entryBytes = 0;
        this.#expectsEntry = false;
        start = at;
      }
      this.#step(code);
      if (this.#entry === null || this.#depth !== 2) continue;
      this.#hold(chunk.subarray(start, at + 1));
      const whole: Buffer = Buffer.concat(this.#entry);
      this.#entry = null;
      yield whole;
    }
    if (this.#entry !== null) this.#hold(chunk.subarray(start));
  }

  end(): void {
    if (this.#depth !== 0 || this.#expects !== 'end') throw broken();
    if (!this.#hasList)
      throw new GatewayError('missing_required_parameter', {
        path: [this.#name],
        message: `Missing required parameter: '${this.#name}'.`,
      });
  }

  get #isName(): boolean {
    return this.#depth === 1 && this.#expects === 'name';
  }

  #addToName(code: number): void {
    if (this.#memberName.length < MAX_NAME_BYTES) this.#memberName.push(code);
  }

  #hold(bytes: Buffer): void {
    this.#entryBytes += bytes.length;
    if (this.#entryBytes > this.#maxEntryBytes)
      throw new GatewayError(
        'request_too_large',
        `A request of the batch is longer than the ${this.#maxEntryBytes} bytes that one may have.`,
      );
    this.#entry?.push(bytes);
  }

  #endText(): void {
    this.#inText = false;
    if (this.#depth !== 1) return;
    this.#expects = this.#expects === 'name' ? 'colon' : 'comma';
  }

  #closeList(): void {
    if (this.#expectsEntry && this.#hasEntries) throw broken();
    this.#inList = false;
    this.#depth = 1;
    this.#expects = 'comma';
  }

  get #hasEntries(): boolean {
    return this.#entryBytes > 0;
  }

  #step(code: number): void {
    if (this.#expects === 'end') throw broken();
    if (code === QUOTE) {
      if (this.#depth === 0) throw broken();
      this.#inText = true;
      if (this.#isName) this.#memberName = [];
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) this.#open(code);
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      this.#depth -= 1;
      if (this.#depth < 0) throw broken();
      if (this.#depth === 0) this.#expects = 'end';
      else if (this.#depth === 1) this.#expects = 'comma';
    } else if (this.#depth === 0) throw broken();
    else if (this.#depth === 1 && code === COLON) this.#expects = 'value';
    else if (this.#depth === 1 && code === COMMA) this.#expects = 'name';
  }

  #open(code: number): void {
    if (this.#depth === 0) {
      if (code !== OPEN_OBJECT || this.#expects !== 'begin') throw broken();
      this.#expects = 'name';
    }
    const isList = this.#depth === 1 && this.#expects === 'value' && this.#nameRead === this.#name;
    if (isList) {
      if (code !== OPEN_LIST) throw noObject(this.#name);
      if (this.#hasList) throw broken();
      this.#hasList = true;
      this.#inList = true;
    }
    this.#depth += 1;
  }

  /** Without the quote that ends it. */
  get #nameRead(): string {
    return Buffer.from(this.#memberName.slice(0, -1)).toString();
  }
}

/** Where a text is over, or has an escape; the end of the chunk where it goes on. */
function nextMark(chunk: Buffer, from: number): number {
  const quote = chunk.indexOf(QUOTE, from);
  const end = quote === -1 ? chunk.length : quote;
  const escaped = chunk.subarray(from, end).indexOf(BACKSLASH);
  return escaped === -1 ? end : from + escaped;
}

const isSpace = (code: number): boolean =>
  code === SPACE || code === LINE_FEED || code === RETURN || code === TAB;

const broken = (): GatewayError =>
  new GatewayError('invalid_json', {
    message: {
      openai: 'We could not parse the JSON body of your request.',
      anthropic: 'The request body is not valid JSON.',
    },
  });

const noObject = (name: string): GatewayError =>
  new GatewayError('invalid_type', { path: [name], message: 'Input should be a list of objects.' });
