/** Writes one event. Its sequence number is added behind this. */
export type Emit = (type: string, members: object) => void;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** Where an item stands in its response; every event about it says so. */
export interface Position {
  readonly item_id: string;
  readonly output_index: number;
}

/** One output item while it is written. */
export interface ItemWriter {
  readonly kind: 'message' | 'reasoning' | 'call' | 'search';
  /** The item as it stands. */
  snapshot(status: ItemStatus): object;
  /** Ends what is open inside the item. */
  close(): void;
}
