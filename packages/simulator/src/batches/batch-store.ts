import type { JsonObject } from '../json-value.ts';

/** What a test has a provider do with batches. */
export interface BatchPlan {
  /** Batches do not get on. */
  isHeld: boolean;
  /** Lines of each that are run; then it ends early, as `expired`. */
  maxRun: number;
  /** Changes the lines of results before they can be fetched. */
  tamper: ((lines: readonly string[]) => readonly string[]) | null;
}

export interface UploadedFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: Buffer;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/** A batch in either form. */
export interface SimulatedBatch {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The path that its lines are for. */
  readonly endpoint: string;
  readonly lines: readonly { readonly customId: string; readonly body: JsonObject }[];
  readonly inputFileId: string | null;
  readonly metadata: JsonObject | null;
  /** What is wrong with its lines. */
  readonly problems: readonly JsonObject[];
  status:
    | 'validating'
    | 'in_progress'
    | 'finalizing'
    | 'cancelling'
    | 'completed'
    | 'failed'
    | 'expired'
    | 'cancelled';
  cancellingAt: number | null;
  endedAt: number | null;
  succeeded: number;
  errored: number;
  outputFileId: string | null;
  errorFileId: string | null;
  /** Of a batch of messages. */
  results: string | null;
}

/** The files and batches of a simulated provider. */
export interface BatchStore {
  readonly plan: BatchPlan;
  readonly files: Map<string, UploadedFile>;
  readonly batches: Map<string, SimulatedBatch>;
  clear(): void;
}

export const createBatchStore = (): BatchStore => {
  const plan: BatchPlan = { isHeld: false, maxRun: Number.POSITIVE_INFINITY, tamper: null };
  const files = new Map<string, UploadedFile>();
  const batches = new Map<string, SimulatedBatch>();
  return {
    plan,
    files,
    batches,
    clear: () => {
      Object.assign(plan, { isHeld: false, maxRun: Number.POSITIVE_INFINITY, tamper: null });
      files.clear();
      batches.clear();
    },
  };
};

export const MAX_LIST = 100;

/** A page of objects, the newest first. */
export function pageOf<Item extends { readonly id: string }>(
  items: Iterable<Item>,
  query: URLSearchParams,
  after = query.get('after'),
): { readonly items: readonly Item[]; readonly hasMore: boolean } {
  const all = [...items].reverse();
  const begin = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const limit = Math.min(MAX_LIST, Number(query.get('limit') ?? 20));
  return { items: all.slice(begin, begin + limit), hasMore: begin + limit < all.length };
}
