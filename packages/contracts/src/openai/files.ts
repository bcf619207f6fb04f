import { z } from 'zod';
import { INTEGER } from '../wire-types.ts';

const [HOUR_SECONDS, DAY_SECONDS] = [3600, 86_400];

/** How long a file is kept: from an hour to thirty days. */
export const ExpiresAfter = z.looseObject({
  anchor: z.literal('created_at'),
  seconds: z
    .int({ error: INTEGER })
    .min(HOUR_SECONDS)
    .max(30 * DAY_SECONDS),
});

/** The text parts of the form of `POST /v1/files`. The file is beside them. */
export const FileRequest = z.looseObject({
  purpose: z.enum(['batch']),
  expires_after: ExpiresAfter.nullish(),
});
export type FileRequest = z.infer<typeof FileRequest>;

const unixSeconds = z.int().min(0);

/** A file as its caller sees it. */
export const FileObject = z.strictObject({
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int().min(0),
  created_at: unixSeconds,
  expires_at: unixSeconds,
  filename: z.string(),
  purpose: z.enum(['batch', 'batch_output']),
  status: z.literal('processed'),
  status_details: z.null(),
});
export type FileObject = z.infer<typeof FileObject>;

const MAX_PAGE = 10_000;

export const FileListQuery = z.object({
  purpose: z.string().max(100).optional(),
  after: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
  order: z.enum(['asc', 'desc']).optional(),
});
export type FileListQuery = z.infer<typeof FileListQuery>;
