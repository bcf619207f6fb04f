import { parseJson } from '@gateway/service-kit/request/json-body';
import { type Adding, type Additions, additionsIn } from '../endpoints/conversations/additions.ts';
import { type ItemColumns, storableColumns } from './item-columns.ts';
import { bufferOf } from './shared-bytes.ts';

export interface AdditionsTask {
  readonly adding: Adding;
  readonly bytes: Uint8Array;
  readonly maxDepth: number;
  /** Whose items they are to be. */
  readonly owner: string;
}

export interface ReadAdditions extends Omit<Additions, 'items'> {
  readonly items: ItemColumns;
}

/** Reads what a request puts into a conversation. @throws {GatewayError} for what the endpoint does not take */
export function additionsTask({ adding, bytes, maxDepth, owner }: AdditionsTask): ReadAdditions {
  const { items, ...others } = additionsIn(adding, parseJson(bufferOf(bytes), maxDepth));
  return { ...others, items: storableColumns(owner, items) };
}
