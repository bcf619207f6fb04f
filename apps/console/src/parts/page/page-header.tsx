import { Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface PageHeaderProps {
  readonly title: string;
  readonly badge?: ReactNode;
  /** One sentence on what the page is for. */
  readonly about?: ReactNode;
  /** The page's main action. */
  readonly children?: ReactNode;
}

export function PageHeader({ title, badge, about, children }: PageHeaderProps) {
  return (
    <Group justify="space-between" align="flex-start" mb="md" gap="sm">
      <div>
        <Group gap="xs">
          <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {badge}
        </Group>
        {about && (
          <Text size="sm" c="dimmed" mt={2}>
            {about}
          </Text>
        )}
      </div>
      {children}
    </Group>
  );
}
