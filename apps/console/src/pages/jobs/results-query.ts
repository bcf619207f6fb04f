import type { BatchObject } from '@gateway/contracts/openai/batches';
import { queryOptions } from '@tanstack/react-query';
import { BASE_PATH } from '../../api/base-path.ts';
import { ApiError } from '../../api/client.ts';
import type { JobDetail } from '../../api/types.ts';

/**
 * What the edge answers under the job's key. Files come from there, and this page loads nothing from other servers: the admin service
 * passes them on (docs/admin-api.md, Playground).
 */
async function fetchUnder(keyId: string, path: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(`${BASE_PATH}/admin/v1/playground${path}`, {
    headers: { 'x-playground-key': keyId },
    ...(signal && { signal }),
  });
  if (response.ok) return response;
  throw new ApiError(response.status, {
    code: 'unknown',
    message: `Could not be loaded (${response.status}). It may have expired.`,
    path: null,
  });
}

type Asset = JobDetail['assets'][number];

/** An image of a job's result. Its URL is signed again each time, the image stays the same. */
export const imageQuery = ({ id, url }: Asset, keyId: string) =>
  queryOptions({
    queryKey: ['job-image', id],
    queryFn: async ({ signal }) => {
      const { pathname, search } = new URL(url ?? '', window.location.href);
      const path = pathname.slice(pathname.indexOf('/v1/'));
      return (await fetchUnder(keyId, path + search, signal)).blob();
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });

/** A transcript, in the format that its caller wanted. */
export const transcriptQuery = ({ id, keyId }: JobDetail) =>
  queryOptions({
    queryKey: ['job-transcript', id],
    queryFn: async ({ signal }) =>
      (await fetchUnder(keyId, `/v1/audio/jobs/${encodeURIComponent(id)}/result`, signal)).text(),
    // Each reading counts as one of its caller's.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** What the lines of a batch came to, as lines of JSON. */
export const fetchBatchResults = async ({ id, keyId, kind }: JobDetail): Promise<Blob> => {
  if (kind === 'text.batch') return fetchTextResults(id, keyId);
  const area = kind === 'image.batch' ? 'images' : 'audio';
  return (await fetchUnder(keyId, `/v1/${area}/jobs/${encodeURIComponent(id)}/result`)).blob();
};

/** Those of text requests lie in two files: of the lines that were answered, and of the others. */
async function fetchTextResults(jobId: string, keyId: string): Promise<Blob> {
  const path = `/v1/batches/${encodeURIComponent(jobId.replace('job_', 'batch_'))}`;
  const batch: BatchObject = await (await fetchUnder(keyId, path)).json();
  const ids = [batch.output_file_id, batch.error_file_id].filter((id) => id !== null);
  const files = ids.map(async (id) =>
    (await fetchUnder(keyId, `/v1/files/${encodeURIComponent(id)}/content`)).blob(),
  );
  return new Blob(await Promise.all(files));
}
