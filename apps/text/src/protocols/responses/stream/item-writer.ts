/** Writes one event. The receiver adds its sequence number. */
export type Emit = (type: string, members: object) => void;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The position of an item in its response; every event about it has it. */
export interface Position {
  readonly item_id: string;
  readonly output_index: number;
}

/** One output item while it is written. */
export interface ItemWriter {
  readonly kind: 'message' | 'reasoning' | 'call' | 'search';
  /** The item as it is so far. */
  snapshot(status: ItemStatus): object;
  /** Ends what is open inside the item. */
  close(): void;
}
