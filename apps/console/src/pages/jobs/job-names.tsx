import { Badge } from '@mantine/core';
import type { Job } from '../../api/types.ts';

const KINDS: Readonly<Record<Job['kind'], string>> = {
  'image.generation': 'Image generation',
  'image.edit': 'Image edit',
  'audio.transcription': 'Transcription',
  'audio.speech': 'Speech',
  'text.response': 'Background response',
  'image.batch': 'Batch of images',
  'audio.batch': 'Batch of audio',
  'text.batch': 'Batch of text requests',
};
export const kindName = (kind: Job['kind']): string => KINDS[kind];

interface ShownStatus {
  readonly label: string;
  readonly color: string;
}

export const STATUSES: Readonly<Record<Job['status'], ShownStatus>> = {
  queued: { label: 'queued', color: 'gray' },
  in_progress: { label: 'running', color: 'indigo' },
  completed: { label: 'done', color: 'teal' },
  failed: { label: 'failed', color: 'red' },
  cancelled: { label: 'cancelled', color: 'orange' },
};

export const JobStatusBadge = ({ of: { status } }: { of: Pick<Job, 'status'> }) => (
  <Badge variant="dot" color={STATUSES[status].color} size="sm">
    {STATUSES[status].label}
  </Badge>
);
