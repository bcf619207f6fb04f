import { asList, asObject, type JsonObject } from '../json-value.ts';

export interface StoredResponse {
  readonly id: string;
  /** The current object, for GET. */
  current: JsonObject;
  readonly isBackground: boolean;
  /** This request's own input items, each with an id. */
  readonly inputItems: readonly JsonObject[];
  /** The model's whole input, earlier turns included. */
  readonly context: readonly JsonObject[];
  /** Resolves when the status is final. */
  readonly done: Promise<void>;
  /** Ends it now; later calls do nothing. */
  readonly finish: (final: JsonObject) => void;
  /** The frames of its stream, from the first one. */
  readonly frames: () => Iterable<string>;
}

export interface ResponseStore {
  put(response: StoredResponse): void;
  get(id: string): StoredResponse | undefined;
  delete(id: string): boolean;
  /** A stored item, input or output, by its id. */
  item(id: string): JsonObject | undefined;
  /** Keeps a timer, so that `clear` can stop it. */
  later(milliseconds: number, action: () => void): void;
  clear(): void;
}

const MAX_RESPONSES = 1000;

/** Keeps the newest responses in memory. */
export const createResponseStore = (): ResponseStore => {
  const responses = new Map<string, StoredResponse>();
  const timers = new Set<NodeJS.Timeout>();
  return {
    put: (response) => {
      responses.set(response.id, response);
      if (responses.size > MAX_RESPONSES)
        for (const oldest of responses.keys()) return void responses.delete(oldest);
    },
    get: (id) => responses.get(id),
    delete: (id) => responses.delete(id),
    item: (id) => {
      for (const { inputItems, current } of responses.values()) {
        const found = [...inputItems, ...outputOf(current)].find((item) => item.id === id);
        if (found) return found;
      }
      return undefined;
    },
    later: (milliseconds, action) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        action();
      }, milliseconds);
      timers.add(timer);
    },
    clear: () => {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      responses.clear();
    },
  };
};

/** The output items of a response object. */
export const outputOf = (response: JsonObject): readonly JsonObject[] =>
  asList(response.output).map(asObject);
