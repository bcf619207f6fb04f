import type { FileObject } from '@gateway/contracts/openai/files';
import type { StoredFile } from '../../batches/stored-files.ts';

const toSeconds = (ms: number): number => Math.floor(ms / 1000);

/** A file as its caller sees it. */
export const fileObject = (file: StoredFile): FileObject => ({
  id: file.id,
  object: 'file',
  bytes: file.sizeBytes,
  created_at: toSeconds(file.createdAtMs),
  expires_at: toSeconds(file.expiresAtMs),
  filename: file.filename,
  purpose: file.purpose === 'batch' ? 'batch' : 'batch_output',
  status: 'processed',
  status_details: null,
});
