"""Strongly connected components of a world's live arcs (CPU)."""

from gpukit.device.compiled import njit


@njit
def condense(world, tails, slots):
    """Find the strongly connected components of slots that are not gone; return the number with out-arcs.

    Algorithm 2, line 6, by Tarjan's algorithm with an explicit stack. A component comes after all components that it
    reaches. Slots without out-arcs are components of their own and are not listed.
    """
    comp, weight, low, visit, cursor = world.comp, world.weight, world.low, world.visit, world.cursor
    row, heads, gone, stack, frames = world.row, world.heads, world.gone, world.stack, world.frames
    for s in range(slots):
        comp[s] = s
        weight[s] = 1 - gone[s]
    for s in range(tails):
        visit[s] = 0
    counter = placed = components = 0
    for root in range(tails):
        if gone[root] or visit[root]:
            continue
        counter += 1
        visit[root] = low[root] = counter
        cursor[root] = row[root]
        comp[root] = -1
        stack[0] = frames[0] = root
        on_stack = depth = 1
        while depth > 0:
            u = frames[depth - 1]
            if cursor[u] < row[u + 1]:
                v = heads[cursor[u]]
                cursor[u] += 1
                if v >= tails or gone[v]:
                    continue
                if visit[v] == 0:
                    counter += 1
                    visit[v] = low[v] = counter
                    cursor[v] = row[v]
                    comp[v] = -1
                    stack[on_stack] = v
                    on_stack += 1
                    frames[depth] = v
                    depth += 1
                elif comp[v] < 0:
                    low[u] = min(low[u], visit[v])
                continue
            depth -= 1
            if depth > 0:
                parent = frames[depth - 1]
                low[parent] = min(low[parent], low[u])
            if low[u] == visit[u]:
                world.order[components] = placed
                components += 1
                weight[u] = 0
                while True:
                    on_stack -= 1
                    v = stack[on_stack]
                    comp[v] = u
                    weight[u] += 1
                    world.members[placed] = v
                    placed += 1
                    if v == u:
                        break
    world.order[components] = placed
    return components
