import { Badge } from '@mantine/core';

interface Shown {
  readonly color: string;
  readonly about: string;
}

const OUTCOMES: Readonly<Record<string, Shown>> = {
  ok: { color: 'teal', about: 'Answered in full.' },
  failed: { color: 'red', about: 'Ended with an error.' },
  cut: { color: 'red', about: 'The stream broke off after it had started.' },
  left: { color: 'orange', about: 'The caller closed the connection before the end.' },
  cancelled: { color: 'gray', about: 'Cancelled by the caller.' },
  abandoned: {
    color: 'orange',
    about: 'The process ended before the request did. The estimate was charged.',
  },
};

export const OutcomeBadge = ({ of }: { of: string }) => (
  <Badge variant="dot" color={OUTCOMES[of]?.color ?? 'gray'}>
    {of}
  </Badge>
);

/** A sentence on what an outcome means; '' for one that is not known. */
export const aboutOutcome = (outcome: string): string => OUTCOMES[outcome]?.about ?? '';
