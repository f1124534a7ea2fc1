import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import software.amazon.event.ruler.Machine;

/** event-ruler over files: {@code EventRulerPeer PATTERNS EVENTS [OUT]}, see ../__init__.py for the formats. */
public final class EventRulerPeer {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** CPU seconds of the whole process: its compiler and collector count. */
    private static double processSeconds() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() * 1e-9;
    }

    /** CPU seconds of the thread that matches. */
    private static double threadSeconds() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() * 1e-9;
    }

    /** Judge each pattern in a machine of its own: what it means, whatever stands beside it. */
    private static void alone(List<String> patterns, List<String> events, Path out) throws Exception {
        ArrayNode refused = JSON.createArrayNode();
        long matches = 0;
        try (BufferedWriter writer = Files.newBufferedWriter(out)) {
            for (String line : patterns) {
                JsonNode given = JSON.readTree(line);
                String name = given.get("id").asText();
                Machine machine = new Machine();
                try {
                    machine.addRule(name, given.get("pattern").asText());
                } catch (Exception error) {
                    refused.add(JSON.createArrayNode().add(name).add(String.valueOf(error.getMessage())));
                    continue;
                }
                for (int at = 0; at < events.size(); at++) {
                    if (!machine.rulesForJSONEvent(events.get(at)).isEmpty()) {
                        matches++;
                        writer.write(JSON.createArrayNode().add(at).add(name).toString());
                        writer.newLine();
                    }
                }
            }
        }
        ObjectNode report = JSON.createObjectNode();
        report.put("peer", "event-ruler").put("patterns", patterns.size() - refused.size());
        report.put("events", events.size()).put("matches", matches).set("refused", refused);
        System.out.println(report);
    }

    public static void main(String[] arguments) throws Exception {
        List<String> patterns = Files.readAllLines(Path.of(arguments[0]));
        List<String> events = Files.readAllLines(Path.of(arguments[1]));
        ArrayNode refused = JSON.createArrayNode();
        boolean alone = Boolean.getBoolean("alone");
        if (alone) {
            alone(patterns, events, Path.of(arguments[2]));
            return;
        }
        Machine machine = new Machine();
        int taken = 0;

        double start = processSeconds();
        for (String line : patterns) {
            JsonNode given = JSON.readTree(line);
            try {
                machine.addRule(given.get("id").asText(), given.get("pattern").asText());
                taken++;
            } catch (Exception error) {
                refused.add(JSON.createArrayNode().add(given.get("id").asText()).add(String.valueOf(error.getMessage())));
            }
        }
        double load = processSeconds() - start;

        // Warm: the just-in-time compiler has seen the path before the clock starts.
        long warm = 0;
        long until = System.nanoTime() + 2_000_000_000L;
        for (int at = 0; System.nanoTime() < until; at = (at + 1) % events.size()) {
            warm += machine.rulesForJSONEvent(events.get(at)).size();
        }

        List<List<String>> found = new ArrayList<>();
        boolean keep = arguments.length > 2;
        long matches = 0;
        start = processSeconds();
        double thread = threadSeconds();
        for (String event : events) {
            List<String> names = machine.rulesForJSONEvent(event);
            matches += names.size();
            if (keep) {
                found.add(names);
            }
        }
        double cpu = processSeconds() - start;
        thread = threadSeconds() - thread;

        if (keep) {
            try (BufferedWriter out = Files.newBufferedWriter(Path.of(arguments[2]))) {
                for (int at = 0; at < found.size(); at++) {
                    for (String name : found.get(at)) {
                        out.write(JSON.createArrayNode().add(at).add(name).toString());
                        out.newLine();
                    }
                }
            }
        }
        ObjectNode report = JSON.createObjectNode();
        report.put("peer", "event-ruler").put("patterns", taken).put("events", events.size()).put("matches", matches);
        report.set("refused", refused);
        report.put("load_cpu_s", load).put("cpu_s", cpu).put("thread_cpu_s", thread).put("warm_matches", warm);
        System.out.println(report);
    }
}
