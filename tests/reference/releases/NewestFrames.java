import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.MemoryRecords;

/** Prints each line of the input, a golden line without "hex", with the bytes that Kafka's classes write for its value. */
public class NewestFrames {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String text = lines.readLine(); text != null; text = lines.readLine()) {
            ObjectNode line = (ObjectNode) mapper.readTree(text);
            short version = (short) line.get("version").asInt();
            boolean isRequest = line.get("kind").asText().equals("request");
            String name = line.get("api").asText() + (isRequest ? "Request" : "Response") + "Data";
            JsonNode value = line.get("value").deepCopy();
            List<JsonNode> records = taken(value, new ArrayList<>());
            Message message = (Message) Class.forName("org.apache.kafka.common.message." + name + "JsonConverter")
                .getMethod("read", JsonNode.class, short.class).invoke(null, value, version);
            give(message, records);
            ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
            byte[] bytes = new byte[written.remaining()];
            written.get(bytes);
            line.put("hex", HexFormat.of().formatHex(bytes));
            System.out.println(mapper.writeValueAsString(line));
        }
    }

    /** Replaces the records in a value by what the converter expects, and returns them in their order. */
    private static List<JsonNode> taken(JsonNode node, List<JsonNode> records) {
        if (node instanceof ObjectNode object && object.has("records")) {
            records.add(object.get("records"));
            object.put("records", "");
        }
        node.forEach(each -> taken(each, records));
        return records;
    }

    private static void give(Message message, List<JsonNode> records) {
        int[] next = {0};
        if (message instanceof ProduceRequestData produce) {
            produce.topicData().forEach(topic -> topic.partitionData()
                .forEach(partition -> partition.setRecords(parsed(records.get(next[0]++)))));
        } else if (message instanceof FetchResponseData fetch) {
            fetch.responses().forEach(topic -> topic.partitions()
                .forEach(partition -> partition.setRecords(parsed(records.get(next[0]++)))));
        } else if (message instanceof ShareFetchResponseData fetch) {
            fetch.responses().forEach(topic -> topic.partitions()
                .forEach(partition -> partition.setRecords(parsed(records.get(next[0]++)))));
        }
    }

    private static MemoryRecords parsed(JsonNode text) {
        if (text.isNull()) {
            return null;
        }
        return MemoryRecords.readableRecords(ByteBuffer.wrap(Base64.getDecoder().decode(text.asText())));
    }
}
