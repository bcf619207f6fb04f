import { Anchor, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { JobDetail } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import classes from './job-result.module.css';
import { imageQuery, transcriptQuery } from './results-query.ts';

type Asset = JobDetail['assets'][number];

interface JobResultProps {
  readonly of: JobDetail;
  /** Whether the person may call the API under the job's key, which is how a transcript is read. */
  readonly maySee: boolean;
}

/** What is kept of a job's result: images as pictures, a transcript as text. */
export function JobResult({ of: job, maySee }: JobResultProps) {
  const { assets, expiresAt, kind } = job;
  if (assets.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {textWithoutFiles(job)}
      </Text>
    );
  const images = assets.filter(({ url }) => url !== null);
  const files = assets.filter(({ url }) => url === null);
  return (
    <Stack gap="xs">
      {images.map((image, at) => (
        <JobImage key={image.id} of={image} job={job} name={`Image ${at + 1} of ${images.length}`} />
      ))}
      {maySee && kind === 'audio.transcription' && <Transcript of={job} />}
      {images.length === 0 &&
        files.map(({ id, contentType }) => (
          <Text key={id} size="sm">
            {contentType}
          </Text>
        ))}
      {expiresAt !== null && (
        <Text size="xs" c="dimmed">
          Stored until <Moment at={expiresAt} size="xs" />
        </Text>
      )}
    </Stack>
  );
}

const textWithoutFiles = ({ status }: JobDetail): string =>
  status === 'completed' ? 'Its files have expired.' : 'No result.';

/** A picture; a link where it cannot be shown here, as from a bucket that callers are sent to. */
function JobImage({ of: image, job, name }: { of: Asset; job: JobDetail; name: string }) {
  const { data, error } = useQuery(imageQuery(image, job.keyId));
  const source = useObjectUrl(data);
  return (
    <div>
      {source !== undefined && (
        <img src={source} alt={`${name}, made by ${job.model}`} className={classes.image} />
      )}
      {source === undefined && !error && <Loader size="sm" role="status" aria-label={`Loading: ${name}`} />}
      <Group gap="sm" mt={4}>
        <Text size="xs" c="dimmed">
          {name}, {image.contentType}
          {error !== null && '. It cannot be shown here.'}
        </Text>
        <Anchor href={image.url ?? ''} target="_blank" rel="noreferrer" size="xs">
          Open the image
        </Anchor>
      </Group>
    </div>
  );
}

/** A URL for these bytes within the page, until it shows others. */
function useObjectUrl(bytes: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (bytes === undefined) return;
    const made = URL.createObjectURL(bytes);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  return url;
}

/** Reading it is asked for: it counts as its caller's, after which a result is not kept for long. */
function Transcript({ of: job }: { of: JobDetail }) {
  const [isWanted, setWanted] = useState(false);
  const { data, error, isFetching } = useQuery({ ...transcriptQuery(job), enabled: isWanted });
  if (data !== undefined)
    return (
      <Text component="pre" size="sm" className={classes.transcript} tabIndex={0} aria-label="Transcript">
        {data}
      </Text>
    );
  return (
    <div>
      <Button size="xs" variant="default" loading={isFetching} onClick={() => setWanted(true)}>
        Show transcript
      </Button>
      <Text size="xs" c={error ? 'var(--console-worse)' : 'dimmed'} mt={4} role={error ? 'alert' : undefined}>
        {error?.message ??
          'This counts as a fetch by its caller: from then on, it may be stored for only ten minutes.'}
      </Text>
    </div>
  );
}
