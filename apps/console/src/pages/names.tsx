import { Badge, Group } from '@mantine/core';

/** Names side by side; null stands for all of them. */
export const Names = ({ of }: { of: readonly string[] | null }) =>
  of === null ? (
    'all'
  ) : (
    <Group gap={4}>
      {of.map((name) => (
        <Badge key={name} variant="default" fw={400}>
          {name}
        </Badge>
      ))}
    </Group>
  );
