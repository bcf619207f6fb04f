import { Badge } from '@mantine/core';

interface Shown {
  readonly color: string;
  readonly about: string;
}

const OUTCOMES: Readonly<Record<string, Shown>> = {
  ok: { color: 'teal', about: 'It was answered whole.' },
  failed: { color: 'red', about: 'It ended with an error.' },
  cut: { color: 'red', about: 'The stream broke after it had begun.' },
  left: { color: 'orange', about: 'The caller closed the connection before the end.' },
  cancelled: { color: 'gray', about: 'The caller cancelled it.' },
  abandoned: {
    color: 'orange',
    about: 'Its process ended before it did. It is charged as it was estimated.',
  },
};

export const OutcomeBadge = ({ of }: { of: string }) => (
  <Badge variant="dot" color={OUTCOMES[of]?.color ?? 'gray'}>
    {of}
  </Badge>
);

/** A sentence on what an outcome means; '' for one that is not known. */
export const aboutOutcome = (outcome: string): string => OUTCOMES[outcome]?.about ?? '';
