import { inputItems } from '../stored/response-record.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type ItemColumns, type NamedColumns, namedIn, storableColumns } from './item-columns.ts';
import { bufferOf } from './shared-bytes.ts';

export interface InputTask {
  readonly bytes: Uint8Array;
  readonly referred: NamedColumns;
  /** Whose items they are to be. */
  readonly owner: string;
}

/** The own input of a request's body as items to store. */
export const inputTask = ({ bytes, referred, owner }: InputTask): ItemColumns =>
  storableColumns(owner, inputItems(parseBody(bufferOf(bytes).toString()), namedIn(referred)));
