import type { MaybePromise } from '../../large/maybe-promise.ts';
import type { Maker } from '../../stored/origins/maker.ts';
import type { StoredItem } from '../../stored/store/conversation-store.ts';
import type { NewItem } from '../../stored/store/window-nodes.ts';
import { type JsonObject, textAt } from '../../wire/json-object.ts';
import { contextTokens } from './earlier-input.ts';
import type { History, RememberedResponse } from './history.ts';
import type { TextRequest } from './text-request.ts';

/** The responses that a caller's connection can continue although they are not stored. */
export interface ResponseMemory {
  find(id: string): RememberedResponse | null;
  keep(response: RememberedResponse): void;
}

/** Who gave a response, and the items that it brings. */
export interface Remembered {
  readonly servedBy: Maker | null;
  readonly input: () => MaybePromise<readonly NewItem[]>;
  readonly output: () => readonly NewItem[];
}

interface RememberingCall {
  readonly memory?: ResponseMemory;
  readonly history: History;
  readonly request: TextRequest;
}

/** Remembers a response that is not stored, if the caller's connection can continue it. */
export function remember(
  { memory, history, request }: RememberingCall,
  response: JsonObject,
  { servedBy, input, output }: Remembered,
): void {
  const id = textAt(response, 'id');
  // If only a provider has the earlier items, they would be missing.
  if (memory === undefined || id === null || !history.isWhole) return;
  const made = output();
  const madeBytes = made.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  const load = async () => [
    ...((await history.continued?.window()) ?? []),
    ...[...(await input()), ...made].map(stored),
  ];
  const bytes = history.bytes + request.inputLength + madeBytes;
  const tokens = contextTokens(response);
  memory.keep(new LateItems({ id, bytes, tokens, servedBy }, load));
}

const stored = ({ id, json, maker = null }: NewItem): StoredItem => ({ id: id ?? '', json, maker });

/** Reads the request again only if the response is continued. */
class LateItems implements RememberedResponse {
  readonly id: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly servedBy: Maker | null;
  #load: (() => Promise<readonly StoredItem[]>) | null;
  #items: Promise<readonly StoredItem[]> | null = null;

  constructor(
    { id, bytes, tokens, servedBy }: Omit<RememberedResponse, 'items'>,
    load: () => Promise<readonly StoredItem[]>,
  ) {
    this.id = id;
    this.bytes = bytes;
    this.tokens = tokens;
    this.servedBy = servedBy;
    this.#load = load;
  }

  items(): Promise<readonly StoredItem[]> {
    this.#items ??= this.#load?.() ?? Promise.resolve([]);
    // The source of the items is not needed any longer.
    this.#load = null;
    return this.#items;
  }
}
