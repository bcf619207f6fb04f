import { Group, Progress, Text } from '@mantine/core';

interface MeterProps {
  /** What is measured, for those who cannot see the bar. */
  readonly label: string;
  /** Of the whole, from 0 to 1. */
  readonly used: number;
  /** Taken for what is in flight, from 0 to 1. */
  readonly reserved?: number;
  readonly left: string;
  readonly right: string;
}

const NEARLY_ALL = 0.8;

const percentOf = (part: number): number => Math.min(100, Math.max(0, part * 100));

/** A bar of how much of a limit or a budget is used, with its figures. */
export function Meter({ label, used, reserved = 0, left, right }: MeterProps) {
  const color = used + reserved >= 1 ? 'red' : used + reserved >= NEARLY_ALL ? 'orange' : 'indigo';
  const usedPercent = percentOf(used);
  return (
    <div>
      <Group justify="space-between" gap="xs" wrap="nowrap" mb={3}>
        <Text size="xs" truncate>
          {left}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {right}
        </Text>
      </Group>
      <Progress.Root size="sm" aria-label={label}>
        <Progress.Section value={usedPercent} color={color} aria-label={`${label}: used`} />
        <Progress.Section
          value={Math.min(100 - usedPercent, percentOf(reserved))}
          color={color}
          striped
          aria-label={`${label}: reserved for requests in flight`}
        />
      </Progress.Root>
    </div>
  );
}
