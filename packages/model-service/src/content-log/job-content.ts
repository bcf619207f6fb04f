import { CONTENT_LOG_HEADER } from '@gateway/contracts/content-log';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { ContentLog, LoggedContent } from './content-log.ts';

/** What of a job's request and answer the content log has. */
export interface JobContent<Input, Output> {
  /** The endpoint that was called, of a job that is not accounted. */
  readonly endpoint: string;
  readonly request: (input: Input) => unknown;
  readonly answer: (output: Output) => unknown;
}

interface LoggedJob<Input, Output, Context> extends JobContent<Input, Output> {
  readonly input: Input;
  readonly context: Context;
}

type Logging = Pick<
  JobContext,
  'jobId' | 'requestId' | 'keyId' | 'team' | 'subject' | 'contentLog' | 'consumed' | 'noted' | 'isTriedAgain'
>;

/** What is done, which says with which input it goes on where hooks have put other texts into it. */
type Work<Input, Output, Context> = (context: Context, goesOnWith: (input: Input) => void) => Promise<Output>;

/**
 * Does a job, and has the content log write what it was asked and what it came to, where a rule applies. An attempt that is made again is
 * not logged, nor one that was refused before a provider was called.
 *
 * @throws {GatewayError} what the work throws; `content_log_required` where its caller does not want it to be logged and may not choose
 */
export async function withJobContent<
  Input extends { readonly model: string },
  Output extends { readonly channel: string },
  Context extends Logging,
>(
  log: ContentLog,
  job: LoggedJob<Input, Output, Context>,
  work: Work<Input, Output, Context>,
): Promise<Output> {
  const { context, input } = job;
  const { keyId, team, requestId, contentLog } = context;
  const headers = contentLog === undefined ? {} : { [CONTENT_LOG_HEADER]: contentLog };
  const begun = log.begin({ identity: { keyId, team }, model: input.model, headers, requestId });
  if (begun === null) return work(context, () => undefined);
  const logged = await begun;
  if (logged.isLogged) return doLogged(logged, job, work);
  context.noted(logged.note);
  return work(context, () => undefined);
}

async function doLogged<
  Input extends { readonly model: string },
  Output extends { readonly channel: string },
  Context extends Logging,
>(
  logged: LoggedContent,
  { input, context, request, answer, endpoint }: LoggedJob<Input, Output, Context>,
  work: Work<Input, Output, Context>,
): Promise<Output> {
  const { jobId: id, requestId, keyId, team, subject } = context;
  let asked = input;
  let isRefused = false;
  const consumed: JobContext['consumed'] = (usage) => {
    isRefused = usage === null;
    context.consumed(usage);
  };
  const end = (channel: string | null, answered: unknown, error?: { code: string; message: string }) => {
    // Not before: lines beside one that is awaited stay where nobody can read or delete them.
    context.noted(logged.note);
    logged.end({
      facts: {
        ...{
          id,
          requestId,
          keyId,
          team,
          endpoint: subject?.endpoint ?? endpoint,
          model: input.model,
          channel,
        },
        ...(subject?.endUser !== undefined && { endUser: subject.endUser }),
        ...(subject?.session !== undefined && { session: subject.session }),
        ...(subject?.label !== undefined && { label: subject.label }),
        ...(error && { error }),
      },
      request: { value: request(asked) },
      answer: answered === null ? null : { value: answered },
      overlong: [],
    });
  };
  try {
    const output = await work({ ...context, consumed }, (next) => {
      asked = next;
    });
    end(output.channel, answer(output));
    return output;
  } catch (thrown) {
    if (isRefused || context.isTriedAgain(thrown)) logged.cancel();
    else {
      const { code, message } = toGatewayError(thrown);
      end(null, null, { code, message });
    }
    throw thrown;
  }
}
