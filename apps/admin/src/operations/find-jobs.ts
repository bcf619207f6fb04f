import type { JobList, JobPage, ListedJob, ListedStatus } from '@gateway/jobs/records/job-list';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { type Scope, seesKey } from '../sessions/scope.ts';

interface Sources {
  readonly jobs: Pick<JobList, 'list'>;
  readonly keys: Pick<KeyStore, 'getKey'>;
}

interface JobQuery {
  readonly status: ListedStatus;
  readonly limit: number;
  readonly after: string | undefined;
}

/** How often one request reads on. A page may be short, and have a `next` all the same. */
const MAX_READS = 20;

/** One page of the jobs that a person sees, queue by queue, the newest first. */
export async function findJobs({ jobs, keys }: Sources, scope: Scope, query: JobQuery): Promise<JobPage> {
  if (scope.kind === 'all') return jobs.list(query);
  const isSeen = jobsSeenBy(scope, keys);
  const found: ListedJob[] = [];
  let after = query.after;
  for (let reads = 0; reads < MAX_READS && found.length < query.limit; reads += 1) {
    const page = await jobs.list({ ...query, limit: query.limit - found.length, after });
    for (const job of page.jobs) if (await isSeen(job)) found.push(job);
    if (page.next === null) return { jobs: found, next: null };
    after = page.next;
  }
  return { jobs: found, next: after ?? null };
}

/** A job says whose it is by its key; a key's team is looked up once. */
export function jobsSeenBy(
  scope: Scope,
  keys: Sources['keys'],
): (job: { readonly keyId: string }) => Promise<boolean> {
  if (scope.kind === 'all') return async () => true;
  const known = new Map<string, Promise<boolean>>();
  const look = async (id: string): Promise<boolean> => {
    const record = await keys.getKey(id);
    return record !== undefined && seesKey(scope)(record);
  };
  return ({ keyId }) => {
    const looked = known.get(keyId) ?? look(keyId);
    known.set(keyId, looked);
    return looked;
  };
}
