import { Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface PageHeaderProps {
  readonly title: string;
  /** One sentence on what the page is for. */
  readonly about?: ReactNode;
  /** The page's main action. */
  readonly children?: ReactNode;
}

export function PageHeader({ title, about, children }: PageHeaderProps) {
  return (
    <Group justify="space-between" align="flex-start" mb="md" gap="sm">
      <div>
        <Title order={1} size="h2">
          {title}
        </Title>
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
